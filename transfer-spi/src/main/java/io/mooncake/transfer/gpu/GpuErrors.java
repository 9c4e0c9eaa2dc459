// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts what the driver refused, and logs one line a minute of it. Safe for all threads. */
final class GpuErrors {
    private static final Logger LOG = LoggerFactory.getLogger(GpuErrors.class);
    private static final long PAUSE_NANOS = 60_000_000_000L;

    private final AtomicLong count = new AtomicLong();
    private final AtomicLong nextLineNanos = new AtomicLong(System.nanoTime());

    void count(MooncakeException e) {
        long errors = count.incrementAndGet();
        long now = System.nanoTime();
        long next = nextLineNanos.get();
        if (now - next >= 0 && nextLineNanos.compareAndSet(next, now + PAUSE_NANOS)) {
            LOG.warn("GPU memory: {} ({} errors so far)", e.getMessage(), errors);
        }
    }
}
