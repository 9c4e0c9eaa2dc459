// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A limit of locked memory that one of several regions exceeds. Needs a device, as {@link RdmaTransferOnDevice}, and a root that has put off
 * the capability to lock what it likes.
 */
final class RdmaLimitOnDevice {
    private static final int SIZE = 1 << 20;
    private static final int REGIONS = 16;
    /** 16 MiB on the reader's side, and some of the owner's regions. */
    private static final long MORE_BYTES = 26 << 20;

    private static final RdmaConfig ONE_DEVICE = new RdmaConfig(List.of("rxe0"), 1, -1, 4 << 20, 14, 4);

    @AfterEach
    void unlimit() throws Exception {
        limit("unlimited");
    }

    @Test
    void register_moreThanMayBeLocked_saysSoAndLeavesTheOthersSound() throws Exception {
        limit(Long.toString(locked() + MORE_BYTES));
        try (RdmaPair pair = new RdmaPair(ONE_DEVICE, REGIONS * SIZE, 1)) {
            List<RemoteHandle> handles = new ArrayList<>();
            assertThatThrownBy(() -> {
                        for (int i = 0; i < REGIONS; i++) {
                            pair.theirs.fill(i, i * SIZE, SIZE);
                            Region region = pair.register(i * SIZE, SIZE, pair.theirs.guard());
                            handles.add(pair.handle(region, 0, SIZE, false));
                        }
                    })
                    .isInstanceOfSatisfying(MooncakeException.class, refused -> assertThat(refused.code())
                            .isEqualTo(MooncakeException.Code.CONFIGURATION))
                    .hasMessageContaining("ulimit -l");
            assertThat(handles).hasSizeBetween(1, REGIONS - 1);
            assertThat(pair.move(false, handles, SIZE, 30_000)).containsOnly(TransferStatus.COMPLETED);
            for (int i = 0; i < handles.size(); i++) {
                assertThat(pair.ours.holds(i, i * SIZE, SIZE)).isTrue();
            }
        }
    }

    private static void limit(String bytes) throws Exception {
        Process process = new ProcessBuilder(
                        "prlimit", "--pid=" + ProcessHandle.current().pid(), "--memlock=" + bytes)
                .inheritIO()
                .start();
        assertThat(process.waitFor()).isZero();
    }

    /** Bytes that this process has pinned for devices so far. */
    private static long locked() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmPin:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
                .findFirst()
                .orElseThrow();
    }
}
