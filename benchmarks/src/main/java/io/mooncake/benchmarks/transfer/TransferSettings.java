// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How a run measures.
 *
 * @param rounds of each line; each contender takes its turn in each
 * @param millis of one contender's turn
 * @param warmUpMillis before the rounds of a line, of each contender
 * @param memoryBytes of each process, all touched before
 * @param cacheBytes last level of cache, 0 where the machine does not tell
 * @param connections data connections of the engine and of the C program
 * @param load of the machine before, as by {@code uptime}; below zero where it does not tell
 */
record TransferSettings(
        int rounds, long millis, long warmUpMillis, int memoryBytes, long cacheBytes, int connections, double load) {
    private static final int DEFAULT_ROUNDS = 7;
    private static final long LEAST_MEMORY = 256L << 20;
    private static final long MOST_MEMORY = 1L << 30;

    /** @param rounds 0 for as many as the pace has by default */
    static TransferSettings here(int rounds, boolean quick) {
        long cache = lastLevelCacheBytes();
        // A good deal more than the cache, in steps of 64 MiB, which the largest transfer needs.
        long wanted = Math.max(LEAST_MEMORY, cache + cache / 2 + (64 << 20) & -(64L << 20));
        return new TransferSettings(
                rounds > 0 ? rounds : quick ? 5 : DEFAULT_ROUNDS,
                quick ? 40 : 130,
                quick ? 40 : 100,
                (int) Math.min(wanted, MOST_MEMORY),
                cache,
                ClientMain.config("tcp", true).connectionsPerPeer(),
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }

    /** Whether others use so much of the machine that figures come out low. */
    boolean busy() {
        return load > Runtime.getRuntime().availableProcessors() * 0.25;
    }

    /** Whether what the calls touch in turn is larger than the cache, as far as the machine tells. */
    boolean largerThanCache() {
        return memoryBytes > cacheBytes;
    }

    private static long lastLevelCacheBytes() {
        long bytes = 0;
        for (int level = 0; level < 5; level++) {
            try {
                String size = Files.readString(Path.of("/sys/devices/system/cpu/cpu0/cache/index" + level + "/size"))
                        .strip();
                long unit = size.endsWith("K") ? 1L << 10 : size.endsWith("M") ? 1L << 20 : 1;
                bytes = Math.max(bytes, Long.parseLong(size.replaceAll("\\D", "")) * unit);
            } catch (IOException | NumberFormatException e) {
                // No such level.
            }
        }
        return bytes;
    }
}
