// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Members that open accesses over RDMA to what they were not granted. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaAbuseOnDevice {
    private static final RdmaConfig ONE_DEVICE = new RdmaConfig(List.of("rxe0"), 1, -1, 16 << 20, 14, 4);
    private static final int FORGERIES = 100_000;
    private static final int BATCH = 4_000;

    @Test
    void forgedOpens_inAHurry_arePutOutAndCountedExactly() {
        try (RdmaPair pair = new RdmaPair(ONE_DEVICE, BATCH * 8, 1)) {
            Region region = pair.register(0, BATCH * 8, pair.theirs.guard());
            RemoteHandle good = pair.handle(region, 0, 8, false);
            byte[] capability = good.capability().clone();
            capability[5] ^= 1;
            RemoteHandle forged =
                    new RemoteHandle(region.id(), good.generation(), 0, 8, false, good.expiresAtNanos(), capability);
            assertThat(pair.move(false, List.of(good), 8, 30_000)).containsExactly(TransferStatus.COMPLETED);
            long served = pair.counters.snapshot().requestsServed();
            long began = System.nanoTime();
            for (int sent = 0; sent < FORGERIES; sent += BATCH) {
                assertThat(pair.move(false, Collections.nCopies(BATCH, forged), 8, 30_000))
                        .doesNotContain(TransferStatus.COMPLETED);
            }
            long refused = pair.counters.refusals().get(RefusalCause.FORGED);
            System.out.println("forged accesses by RDMA: " + refused + " refused, then out");
            // The first batch reaches the limit, after which nothing is looked at any more, unless the machine is so
            // slow that much of it
            // is forgotten meanwhile: 1,000 a second.
            double seconds = (System.nanoTime() - began) / 1e9;
            assertThat(refused).isBetween(1065L, Math.max(BATCH, (long) ((seconds + 2) * 1000) + 65));
            assertThat(pair.counters.snapshot().requestsRefused()).isEqualTo(refused);
            assertThat(pair.counters.snapshot().requestsServed()).isEqualTo(served);
            assertThat(pair.ours.untouched(8, BATCH * 8 - 8)).isTrue();
            if (seconds < FORGERIES / 2000.0) {
                assertThat(pair.move(false, List.of(good), 8, 2_000)).doesNotContain(TransferStatus.COMPLETED);
            }
        }
    }

    /** Accesses are numbered by who opens them, so a member can leave open as many as it likes of a message that it sent once. */
    @Test
    @EnabledIfSystemProperty(named = "mooncake.long", matches = "true")
    void opens_neverClosed_areRefusedBeyondTheRequestsOfOnePeer() {
        try (RdmaPair pair = new RdmaPair(ONE_DEVICE, BATCH * 8, 1)) {
            Region region = pair.register(0, BATCH * 8, pair.theirs.guard());
            AtomicReference<byte[]> open = new AtomicReference<>();
            pair.change("mooncake.rdma.open", asked -> {
                open.set(asked.clone());
                return asked;
            });
            List<RemoteHandle> handles = Collections.nCopies(BATCH, pair.handle(region, 0, 8, false));
            pair.after("mooncake.rdma.open", () -> {
                int opened = 0;
                while (opened < 100 && pair.answers("mooncake.rdma.open", numbered(open.get(), 1000 + opened))) {
                    opened++;
                }
                assertThat(opened).as("besides the one under way").isEqualTo(64 * 4096 / BATCH - 1);
            });
            assertThat(pair.move(false, handles, 8, 60_000)).containsOnly(TransferStatus.COMPLETED);
        }
    }

    @Test
    void access_guardThrows_holdsNothing() throws Exception {
        for (boolean atOpen : new boolean[] {true, false}) {
            try (RdmaPair pair = new RdmaPair(ONE_DEVICE, 8, 1)) {
                AtomicBoolean throwing = new AtomicBoolean(atOpen);
                Region region = pair.register(0, 8, (offset, length, generation) -> {
                    if (throwing.get()) {
                        throw new IllegalStateException("a guard that is broken");
                    }
                    return true;
                });
                pair.after("mooncake.rdma.open", () -> throwing.set(true));
                assertThat(pair.move(false, List.of(pair.handle(region, 0, 8, false)), 8, 2_000))
                        .doesNotContain(TransferStatus.COMPLETED);
                CompletableFuture.runAsync(() -> pair.end(region)).get(20, TimeUnit.SECONDS);
            }
        }
    }

    private static byte[] numbered(byte[] open, long access) {
        byte[] other = open.clone();
        ByteBuffer.wrap(other).order(ByteOrder.LITTLE_ENDIAN).putLong(1, access);
        return other;
    }
}
