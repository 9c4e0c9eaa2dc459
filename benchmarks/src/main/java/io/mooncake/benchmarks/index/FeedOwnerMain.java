// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.HeldBlocks;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.StoredBlock;
import io.mooncake.transfer.TransferEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The announcing process. It reads commands, one a line, and answers each in a line: {@code open} makes a new engine and feed ({@code READY ADDRESS}), {@code announce
 * EVENTS} stores so many blocks as fast as one thread can ({@code announced START_NANOS EVENTS_A_SECOND}), {@code pace EVENTS EVENTS_A_SECOND} stores
 * them in time ({@code paced}). Blocks have 16 tokens and lie in chains of 64. A key's third word is when its block was stored, by {@link System#nanoTime},
 * which is one clock for all processes of a Linux machine; its fourth is its number.
 */
final class FeedOwnerMain {
    private static final int CHAIN = 64;
    private static final int TOKEN_SETS = 256;

    private final int[][] tokens = new int[TOKEN_SETS][];
    private @Nullable TransferEngine engine;
    private @Nullable FeedService feed;
    private BlockKey last = key(-1, 0);

    private FeedOwnerMain() {
        SplittableRandom random = new SplittableRandom(1);
        Arrays.setAll(
                tokens, i -> random.ints(IndexedChains.BLOCK_TOKENS, 0, 50_000).toArray());
    }

    public static void main(String[] args) throws IOException {
        FeedOwnerMain owner = new FeedOwnerMain();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(owner.answer(line.split(" ", -1)));
        }
        owner.close();
        System.exit(0);
    }

    private String answer(String[] command) {
        return switch (command[0]) {
            case "open" -> open();
            case "announce" -> announce(Integer.parseInt(command[1]));
            case "pace" -> pace(Integer.parseInt(command[1]), Integer.parseInt(command[2]));
            default -> "unknown " + command[0];
        };
    }

    private String open() {
        close();
        TransferEngine started = TransferEngine.start(FeedPair.config());
        FeedService service = FeedPair.service(started, List.of(FeedPair.POOL), true, "owner");
        service.held(FeedPair.POOL, new NothingHeld());
        service.start();
        engine = started;
        feed = service;
        return "READY " + started.address().encode();
    }

    private BlockListener announcer() {
        FeedService open = feed;
        if (open == null) {
            throw new IllegalStateException("not open");
        }
        return open.poolListener(FeedPair.POOL);
    }

    private String announce(int events) {
        BlockListener announcer = announcer();
        long start = System.nanoTime();
        for (int i = 0; i < events; i++) {
            announcer.onStored(block(i), HeldIn.DRAM);
        }
        return "announced " + start + " " + events / ((System.nanoTime() - start) / 1e9);
    }

    private String pace(int events, int perSecond) {
        BlockListener announcer = announcer();
        long start = System.nanoTime();
        for (int i = 0; i < events; ) {
            long due = Math.min(events, (System.nanoTime() - start) * perSecond / 1_000_000_000L + 1);
            for (; i < due; i++) {
                announcer.onStored(block(i), HeldIn.DRAM);
            }
            LockSupport.parkNanos(200_000);
        }
        return "paced";
    }

    private StoredBlock block(int number) {
        int depth = number % CHAIN;
        BlockKey parent = depth == 0 ? key(-1, 0) : last;
        last = key(number, System.nanoTime());
        return new StoredBlock(last, parent, depth, tokens[number % TOKEN_SETS], 1, "default");
    }

    private static BlockKey key(long number, long nanos) {
        return new BlockKey(number * 0x9E37_79B9_7F4A_7C15L, ~number * 0xD6E8_FEB8_6659_FD93L, nanos, number);
    }

    private void close() {
        if (feed != null) {
            feed.close();
        }
        if (engine != null) {
            engine.close();
        }
        feed = null;
        engine = null;
    }

    /** The blocks of this benchmark are in no memory: who misses more than the ring has fails it. */
    private static final class NothingHeld implements HeldBlocks {
        @Override
        public void onEvent(BlockEvent event) {}

        @Override
        public long read(long cursor, Page page) {
            return -1;
        }
    }
}
