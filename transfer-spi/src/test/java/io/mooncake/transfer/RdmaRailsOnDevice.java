// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import io.mooncake.transfer.rdma.RdmaTransport.Rail;
import io.mooncake.transfer.topology.RailNumber;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Several devices, and ports that go down and come back while bytes move. Needs soft-RoCE devices rxe2 over x0 and rxe3 over y0, each of
 * which reaches itself only: the paths from a device to the other one never work.
 */
final class RdmaRailsOnDevice {
    private static final RdmaConfig BOTH = new RdmaConfig(List.of("rxe2", "rxe3"), 1, -1, 4 << 20, 12, 3);
    private static final RdmaConfig FIRST = new RdmaConfig(List.of("rxe2"), 1, -1, 4 << 20, 12, 3);
    private static final int SIZE = 1 << 20;
    private static final int REQUESTS = 24;

    @AfterEach
    void allPortsUp() throws Exception {
        link("x0", "up");
        link("y0", "up");
    }

    private static void link(String name, String state) throws IOException, InterruptedException {
        Process ip =
                new ProcessBuilder("ip", "link", "set", name, state).inheritIO().start();
        assertThat(ip.waitFor(20, TimeUnit.SECONDS) && ip.exitValue() == 0).isTrue();
    }

    private static List<RemoteHandle> filled(RdmaPair pair) {
        Region region = pair.register(0, REQUESTS * SIZE, pair.theirs.guard());
        for (int i = 0; i < REQUESTS; i++) {
            pair.theirs.fill(i, i * SIZE, SIZE);
        }
        return pair.handles(region, REQUESTS, SIZE, false);
    }

    private static void assertArrived(RdmaPair pair, TransferStatus[] statuses) {
        assertThat(statuses).containsOnly(TransferStatus.COMPLETED);
        for (int i = 0; i < REQUESTS; i++) {
            assertThat(pair.ours.holds(i, i * SIZE, SIZE)).as("request %d", i).isTrue();
        }
    }

    private static void await(String what, java.util.function.BooleanSupplier condition) {
        long until = System.nanoTime() + 20_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(until);
            Thread.onSpinWait();
        }
    }

    private static Rail rail(RdmaPair pair, int index) {
        return pair.reader.rails().get(index);
    }

    @Test
    void execute_twoDevicesOneGoesDownMeanwhile_losesNothingAndTakesItBack() throws Exception {
        try (RdmaPair pair = new RdmaPair(BOTH, REQUESTS * SIZE, 2)) {
            List<RemoteHandle> handles = filled(pair);
            assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
            assertThat(rail(pair, 0).movedBytes()).isPositive();
            assertThat(rail(pair, 1).movedBytes()).isPositive();
            assertThat(rail(pair, 0).movedBytes() + rail(pair, 1).movedBytes()).isEqualTo((long) REQUESTS * SIZE);

            CompletableFuture<Void> cutter = CompletableFuture.runAsync(() -> {
                long before = rail(pair, 1).movedBytes();
                await("bytes over the second device", () -> rail(pair, 1).movedBytes() > before);
                try {
                    link("y0", "down");
                } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            do {
                assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
            } while (!cutter.isDone());
            cutter.join();
            await("the port is known to be down", () -> !rail(pair, 1).active());
            long down = rail(pair, 1).movedBytes();
            assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
            assertThat(rail(pair, 1).movedBytes()).isEqualTo(down);

            link("y0", "up");
            await("the port is known to be up", () -> rail(pair, 1).active());
            await("bytes over the second device again", () -> {
                assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
                return rail(pair, 1).movedBytes() > down;
            });
        }
    }

    @Test
    void execute_memoryPrefersOneDevice_usesTheOtherOnlyWhileThatIsDown() throws Exception {
        try (RdmaPair pair = new RdmaPair(BOTH, REQUESTS * SIZE, 2)) {
            List<RemoteHandle> some = filled(pair).subList(0, 4);
            pair.preferred = 0b10;
            for (int i = 0; i < 3; i++) {
                assertThat(pair.move(false, some, SIZE, 60_000)).containsOnly(TransferStatus.COMPLETED);
            }
            assertThat(rail(pair, 0).movedBytes()).isZero();
            assertThat(rail(pair, 1).movedBytes()).isEqualTo(12L * SIZE);
            assertThat(pair.railBytes[RailNumber.ofRdma(1)]).isEqualTo(4L * SIZE);
            assertThat(Arrays.stream(pair.railBytes).sum()).isEqualTo(4L * SIZE);
            pair.preferred = 0b01;
            assertThat(pair.move(false, some, SIZE, 60_000)).containsOnly(TransferStatus.COMPLETED);
            assertThat(rail(pair, 0).movedBytes()).isEqualTo(4L * SIZE);

            pair.preferred = 0b10;
            link("y0", "down");
            await("the port is known to be down", () -> !rail(pair, 1).active());
            assertThat(pair.move(false, some, SIZE, 60_000)).containsOnly(TransferStatus.COMPLETED);
            assertThat(rail(pair, 0).movedBytes()).isEqualTo(8L * SIZE);
            link("y0", "up");
            await("the port is known to be up", () -> rail(pair, 1).active());
            await("all bytes over the preferred device again", () -> {
                long other = rail(pair, 0).movedBytes();
                assertThat(pair.move(false, some, SIZE, 60_000)).containsOnly(TransferStatus.COMPLETED);
                return rail(pair, 0).movedBytes() == other;
            });
        }
    }

    @Test
    void execute_onlyPortDown_waitsForItUntilTheDeadline() throws Exception {
        try (RdmaPair pair = new RdmaPair(FIRST, REQUESTS * SIZE, 2)) {
            List<RemoteHandle> handles = filled(pair);
            assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
            link("x0", "down");
            await("the port is known to be down", () -> !rail(pair, 0).active());
            long began = System.nanoTime();
            assertThat(pair.move(false, handles, SIZE, 500)).containsOnly(TransferStatus.TIMEOUT);
            assertThat((System.nanoTime() - began) / 1_000_000).isBetween(490L, 20_000L);

            CompletableFuture<TransferStatus[]> waiting =
                    CompletableFuture.supplyAsync(() -> pair.move(false, handles, SIZE, 60_000));
            Thread.sleep(200);
            assertThat(waiting.isDone()).isFalse();
            link("x0", "up");
            assertArrived(pair, waiting.get(70, TimeUnit.SECONDS));
        }
    }

    @Test
    void execute_onlyPortDownMeanwhile_goesOnWhenItIsBack() throws Exception {
        try (RdmaPair pair = new RdmaPair(FIRST, REQUESTS * SIZE, 2)) {
            List<RemoteHandle> handles = filled(pair);
            AtomicBoolean enough = new AtomicBoolean();
            CompletableFuture<Void> moving = CompletableFuture.runAsync(() -> {
                do {
                    assertArrived(pair, pair.move(false, handles, SIZE, 60_000));
                } while (!enough.get());
            });
            await("the first bytes", () -> rail(pair, 0).movedBytes() > 0);
            // Between two batches nothing is under way that could be repeated.
            for (int i = 0; i < 2 || (i < 10 && pair.reader.retriedSlices() == 0); i++) {
                link("x0", "down");
                await("the port is known to be down", () -> !rail(pair, 0).active());
                link("x0", "up");
                long before = rail(pair, 0).movedBytes();
                await("bytes again", () -> rail(pair, 0).movedBytes() > before || moving.isDone());
            }
            enough.set(true);
            moving.get(70, TimeUnit.SECONDS);
            assertThat(pair.reader.retriedSlices()).isPositive();
        }
    }
}
