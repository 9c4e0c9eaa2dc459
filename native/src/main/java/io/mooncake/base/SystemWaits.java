// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** {@link Waits#SYSTEM}. */
final class SystemWaits implements Waits {
    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public <T> T await(CompletableFuture<T> future, long nanos)
            throws InterruptedException, ExecutionException, TimeoutException {
        return future.get(nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void pause(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(nanos);
    }
}
