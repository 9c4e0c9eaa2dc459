// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A limit of locked memory that one of several regions exceeds. Needs a device, as {@link RdmaTransferOnDevice}, and root. */
final class RdmaLimitOnDevice {
    private static final int SIZE = 1 << 20;
    private static final int REGIONS = 16;
    private static final long LIMIT_BYTES = 26 << 20;

    @Test
    void register_moreThanMayBeLocked_saysSoAndLeavesTheOthersSound() throws Exception {
        Process process = new ProcessBuilder(List.of(
                        "prlimit",
                        "--memlock=" + LIMIT_BYTES,
                        // Root may lock what it likes by this capability.
                        "setpriv",
                        "--bounding-set=-ipc_lock",
                        "--inh-caps=-ipc_lock",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        RdmaLimitOnDevice.class.getName()))
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(said).isTrue();
        assertThat(said).contains("refused CONFIGURATION", "ulimit -l", "the others are sound");
        assertThat(process.exitValue()).as(said).isZero();
    }

    /** The process with the limit: 16 MiB on the reader's side, then one region after the other on the owner's. */
    public static void main(String[] ignored) {
        RdmaConfig config = new RdmaConfig(List.of("rxe0"), 1, -1, 4 << 20, 14, 4);
        try (RdmaPair pair = new RdmaPair(config, REGIONS * SIZE, 1)) {
            List<RemoteHandle> handles = new ArrayList<>();
            for (int i = 0; i < REGIONS; i++) {
                pair.theirs.fill(i, i * SIZE, SIZE);
                try {
                    Region region = pair.register(i * SIZE, SIZE, pair.theirs.guard());
                    handles.add(pair.handle(region, 0, SIZE, false));
                } catch (MooncakeException e) {
                    System.out.println("region " + i + " refused " + e.code() + ": " + e.getMessage());
                    break;
                }
            }
            boolean some = !handles.isEmpty() && handles.size() < REGIONS;
            TransferStatus[] statuses = pair.move(false, handles, SIZE, 30_000);
            boolean sound = some;
            for (int i = 0; i < statuses.length; i++) {
                sound &= statuses[i] == TransferStatus.COMPLETED && pair.ours.holds(i, i * SIZE, SIZE);
            }
            System.out.println(sound ? "the others are sound" : "wrong: " + List.of(statuses));
            System.exit(sound ? 0 : 1);
        }
    }
}
