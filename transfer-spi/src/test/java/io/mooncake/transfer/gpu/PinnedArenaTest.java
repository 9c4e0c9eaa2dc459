// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.transfer.FakeGpus;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Over the fake driver. */
@ExtendWith(FakeGpus.class)
@Timeout(30)
final class PinnedArenaTest {
    private static final int HALF = PinnedArena.BYTES / 2;

    @Test
    void take_smallRowBehindALargeOneThatWaits_comesAfterIt() throws Exception {
        try (CudaDevice device = Cuda.open(0);
                PinnedArena arena = new PinnedArena(device, new GpuErrors())) {
            PinnedArena.Row first = arena.take(HALF, 1, in(20));
            AtomicReference<Thread> waiter = new AtomicReference<>();
            CompletableFuture<PinnedArena.Row> large = CompletableFuture.supplyAsync(() -> {
                waiter.set(Thread.currentThread());
                return arena.take(PinnedArena.BYTES, 1, in(20));
            });
            while (waiter.get() == null || waiter.get().getState() != Thread.State.TIMED_WAITING) {
                TimeUnit.MILLISECONDS.sleep(1);
            }
            assertThat(arena.take(1, 1, System.nanoTime()))
                    .as("not past the large one")
                    .isNull();
            arena.give(first);
            PinnedArena.Row all = large.get(20, TimeUnit.SECONDS);
            assertThat(all.slotBytes()).isEqualTo(PinnedArena.BYTES);
            arena.give(all);
            PinnedArena.Row small = arena.take(1, 1, in(20));
            assertThat(small).isNotNull();
            arena.give(small);
        }
    }

    private static long in(int seconds) {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    }
}
