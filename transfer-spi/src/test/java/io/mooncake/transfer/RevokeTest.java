// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Writes that were found good, and whose copy has not begun when their range is taken back. */
final class RevokeTest {
    private static final int SIZE = 64 << 10;

    private final AtomicLong generation = new AtomicLong(1);
    private final AtomicBoolean stopNext = new AtomicBoolean();
    private final CountDownLatch found = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    /** Holds the thread that asks first up when it has its answer, as a machine that is too busy would. */
    private final class Holding implements PublishedGuard {
        @Override
        public boolean current(long offset, long length, long wanted) {
            boolean current = generation.get() == wanted;
            if (stopNext.compareAndSet(true, false)) {
                found.countDown();
                try {
                    assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return current;
        }

        @Override
        public long generationOffset(long offset, long length) {
            return NOWHERE;
        }
    }

    private static TransferEngine engine() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void revoke_copyIsAboutToBegin_waitsForIt(boolean shared) throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        try (SharedFile file = SharedFile.create(SharedFile.DEFAULT_FOLDER, SIZE);
                Memory source = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
                TransferEngine owner = engine();
                TransferEngine peer = engine()) {
            int region = owner.registerMemory(file.address(), SIZE, new Holding(), file);
            TransferEngine writer = shared ? peer : owner;
            source.register(writer);
            if (shared) {
                assertThat(writer.path(owner.address(), soon()).writes()).isEqualTo(PathReport.Kind.SHARED_MEMORY);
            }
            RemoteHandle handle =
                    owner.issueHandle(writer.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(50));
            stopNext.set(true);
            CompletableFuture<TransferStatus> write = CompletableFuture.supplyAsync(() -> writer.batchTransferSyncWrite(
                            owner.address(),
                            new long[] {source.address},
                            new RemoteHandle[] {handle},
                            new long[] {SIZE},
                            soon())[0]);
            assertThat(found.await(20, TimeUnit.SECONDS)).isTrue();
            generation.set(2);
            CompletableFuture<Void> revoked = CompletableFuture.runAsync(() -> owner.revoke(region, 0, SIZE));
            boolean waited = false;
            try {
                revoked.get(300, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                waited = true;
            }
            goOn.countDown();
            assertThat(waited).isTrue();
            revoked.get(20, TimeUnit.SECONDS);
            assertThat(write.get(20, TimeUnit.SECONDS)).isEqualTo(TransferStatus.STALE_GENERATION);
        }
    }
}
