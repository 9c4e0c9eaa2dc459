// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeExtension;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts the extensions in order, on the node's starting thread, and stops them backwards. The node has joined by then, so others see it;
 * a job that comes early waits, within a limit, for the extension that it asks for. A slow start says so every ten seconds.
 */
final class ExtensionRunner {
    private static final Logger LOG = LoggerFactory.getLogger(ExtensionRunner.class);
    private static final long REPORT_SECONDS = 10;
    private static final long WAIT_SECONDS = 60;

    private final List<NodeExtension> extensions;
    private final ScheduledExecutorService scheduler;
    private final CountDownLatch started = new CountDownLatch(1);
    private final List<NodeExtension> begun = new ArrayList<>();

    ExtensionRunner(List<NodeExtension> extensions, ScheduledExecutorService scheduler) {
        this.extensions = extensions;
        this.scheduler = scheduler;
    }

    /** Starts all; what an extension throws ends the start of the node. */
    void start(Mooncake mooncake) {
        for (NodeExtension extension : extensions) {
            long startedAt = System.nanoTime();
            LOG.info("Starting extension {}", extension.name());
            ScheduledFuture<?> report = scheduler.scheduleAtFixedRate(
                    () -> LOG.info(
                            "Extension {} is still starting after {} s",
                            extension.name(),
                            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startedAt)),
                    REPORT_SECONDS,
                    REPORT_SECONDS,
                    TimeUnit.SECONDS);
            try {
                synchronized (begun) {
                    begun.add(extension);
                }
                extension.start(mooncake);
            } finally {
                report.cancel(false);
            }
            LOG.info(
                    "Extension {} started in {} ms",
                    extension.name(),
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedAt));
        }
        started.countDown();
    }

    /** Stops what was begun, the last one first. Idempotent. */
    void stop() {
        started.countDown();
        List<NodeExtension> stopping;
        synchronized (begun) {
            stopping = new ArrayList<>(begun);
            begun.clear();
        }
        for (int i = stopping.size() - 1; i >= 0; i--) {
            try {
                stopping.get(i).stop();
            } catch (RuntimeException e) {
                LOG.warn("Extension {} failed to stop", stopping.get(i).name(), e);
            }
        }
    }

    <T extends NodeExtension> T find(String name, Class<T> type) {
        NodeExtension found = extensions.stream()
                .filter(extension -> extension.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new MooncakeException(
                        MooncakeException.Code.NOT_FOUND,
                        "extension: " + name + " (expected: one of "
                                + extensions.stream().map(NodeExtension::name).toList() + ")"));
        if (!type.isInstance(found)) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND,
                    "extension " + name + ": " + found.getClass().getName() + " (expected: " + type.getName() + ")");
        }
        awaitStarted(name);
        return type.cast(found);
    }

    private void awaitStarted(String name) {
        // An extension may look for those before it while it starts, on the starting thread.
        synchronized (begun) {
            if (begun.stream().anyMatch(extension -> extension.name().equals(name))
                    && !begun.get(begun.size() - 1).name().equals(name)) {
                return;
            }
        }
        try {
            if (!started.await(WAIT_SECONDS, TimeUnit.SECONDS)) {
                throw new MooncakeException(
                        MooncakeException.Code.DEADLINE_EXCEEDED,
                        "extension " + name + ": still starting after " + WAIT_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MooncakeException(
                    MooncakeException.Code.DEADLINE_EXCEEDED, "extension " + name + ": interrupted", e);
        }
    }
}
