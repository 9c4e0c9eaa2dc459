// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.ssd.SsdAccess;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStatus;
import io.mooncake.memory.ssd.SsdStore;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The SSD below the pool: what comes back, after what, and what happens when the device does not give it. */
final class SsdTierTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final int STRIDE = (int) LocalKvPool.blockStrideBytes(IDENTITY);

    @TempDir
    Path folder;

    /** What listeners say is held; each event must change it. */
    private static final class Held implements BlockListener {
        final Set<BlockKey> keys = ConcurrentHashMap.newKeySet();
        final List<String> wrong = new ArrayList<>();

        @Override
        public void onStored(StoredBlock block) {
            if (!keys.add(block.key())) {
                wrong.add("stored twice: " + block.key());
            }
        }

        @Override
        public void onRemoved(BlockKey key, long generation) {
            if (!keys.remove(key)) {
                wrong.add("removed without being there: " + key);
            }
        }
    }

    private SsdSettings.Builder settings(LocalKvPool pool, int ssdBlocks) {
        return SsdTier.settings(pool, folder, "node-1", (long) ssdBlocks * STRIDE)
                .segmentBytes(16L * STRIDE)
                .commitMillis(5)
                .scrubBytesPerSecond(0);
    }

    private SsdTier open(LocalKvPool pool, int ssdBlocks, BlockListener... listeners) {
        return SsdTier.open(pool, settings(pool, ssdBlocks).build(), List.of(listeners));
    }

    /** One token more than whole blocks, so that exact mode reuses them all. */
    private static int[] prompt(SplittableRandom random, int blocks) {
        return Pools.tokens(random, blocks * Pools.BLOCK_TOKENS + 1);
    }

    private static int requireHit(SsdTier tier, LocalKvPool pool, int[] tokens) {
        try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
            requireBytes(pool, hit, tokens);
            return hit.blockCount();
        }
    }

    private static void requireBytes(LocalKvPool pool, PrefixLease hit, int[] tokens) {
        List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
        for (int i = 0; i < hit.blockCount(); i++) {
            assertThat(Pools.isFilled(hit.block(i), pool.layout(), Tenant.DEFAULT.name(), chain.get(i)))
                    .as("bytes of block %d", i)
                    .isTrue();
        }
    }

    @Test
    void acquire_blocksEvictedFromMemory_comeFromTheSsd() {
        SplittableRandom random = new SplittableRandom(1);
        int[] first = prompt(random, 6);
        int[] second = prompt(random, 6);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = open(pool, 64)) {
            assertThat(Pools.store(pool, Tenant.DEFAULT, first)).isEqualTo(6);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(Pools.store(pool, Tenant.DEFAULT, second)).isEqualTo(6);
            try (PrefixLease memory = pool.acquire(Tenant.DEFAULT, first)) {
                assertThat(memory.blockCount()).as("in memory").isLessThan(6);
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(requireHit(tier, pool, first)).isEqualTo(6);
            assertThat(requireHit(tier, pool, second)).isEqualTo(6);
            assertThat(tier.statistics().loaded()).isGreaterThanOrEqualTo(4);
            assertThat(pool.stats().misses().get(MissReason.NONE)).isEqualTo(2);
        }
    }

    @Test
    void acquire_promptLongerThanMemory_matchesWhatFits() {
        int[] tokens = prompt(new SplittableRandom(2), 40);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier = open(pool, 64)) {
            Pools.store(pool, Tenant.DEFAULT, tokens);
            assertThat(tier.flush(Pools.soon())).isTrue();
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = open(pool, 64)) {
            try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                assertThat(hit.blockCount()).isEqualTo(24);
                assertThat(hit.missReason()).isEqualTo(MissReason.NO_MEMORY);
                requireBytes(pool, hit, tokens);
            }
            // What recovery had not announced is looked at by the writer, for a moment.
            await(() -> pool.stats().openLeases() == 0);
        }
    }

    @Test
    void open_afterARestart_announcesAndServesWhatWasThere() {
        SplittableRandom random = new SplittableRandom(3);
        int[] tokens = prompt(random, 20);
        List<BlockKey> chain;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier = open(pool, 64)) {
            chain = pool.chain(Tenant.DEFAULT, tokens);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            tier.close(Pools.soon()); // drains
        }
        Held held = new Held();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier = open(pool, 64, held)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(held.keys).containsExactlyInAnyOrderElementsOf(chain);
            assertThat(tier.statistics().recovered()).isEqualTo(20);
            assertThat(tier.onlyOnSsd()).hasSize(20).allSatisfy(block -> {
                assertThat(block.key()).isEqualTo(chain.get(block.depth()));
                int from = block.depth() * Pools.BLOCK_TOKENS;
                assertThat(block.tokens()).isEqualTo(Arrays.copyOfRange(tokens, from, from + Pools.BLOCK_TOKENS));
            });
            assertThat(requireHit(tier, pool, tokens)).isEqualTo(20);
            assertThat(held.wrong).isEmpty();
        }
    }

    @Test
    void open_afterKill9_servesWhatWasFlushed() throws Exception {
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "-Dmooncake.leakDebug=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Child.class.getName(),
                        folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            String line = child.inputReader()
                    .lines()
                    .filter("flushed"::equals)
                    .findFirst()
                    .orElse("ended");
            assertThat(line).isEqualTo("flushed");
        } finally {
            child.destroyForcibly();
            assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier = open(pool, 64)) {
            assertThat(requireHit(tier, pool, prompt(new SplittableRandom(4), 12)))
                    .isEqualTo(12);
        }
    }

    /** Stores, flushes, says so and goes on storing until it is killed. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) throws Exception {
            SplittableRandom random = new SplittableRandom(4);
            LocalKvPool pool = Pools.pool(IDENTITY, 16);
            SsdTierTest test = new SsdTierTest();
            test.folder = Path.of(arguments[0]);
            SsdTier tier = test.open(pool, 64);
            Pools.store(pool, Tenant.DEFAULT, prompt(random, 12));
            System.out.println(tier.flush(Pools.soon()) ? "flushed" : "late");
            while (tier.statistics().blocks() < 40) {
                Pools.store(pool, Tenant.DEFAULT, prompt(random, 4));
                Thread.sleep(1);
            }
            Thread.sleep(60_000);
        }
    }

    @Test
    void acquire_recordDamagedOnTheSsd_isAMissWithAReasonAndNotHeldAnyMore() throws Exception {
        int[] tokens = prompt(new SplittableRandom(5), 8);
        List<BlockKey> chain;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 64)) {
            chain = pool.chain(Tenant.DEFAULT, tokens);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            tier.close(Pools.soon());
        }
        flipPayloads();
        Held held = new Held();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 64, held)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(held.keys).hasSize(8); // headers are whole
            try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                assertThat(hit.matchedTokens()).isZero();
                assertThat(hit.missReason()).isEqualTo(MissReason.CHECKSUM);
            }
            assertThat(tier.statistics().damaged()).isEqualTo(1);
            assertThat(pool.stats().misses().get(MissReason.CHECKSUM)).isEqualTo(1);
            assertThat(held.keys).doesNotContain(chain.get(0)).hasSizeGreaterThan(0);
            try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                assertThat(hit.missReason()).isEqualTo(MissReason.NOT_CACHED);
            }
            assertThat(held.wrong).isEmpty();
        }
    }

    /** One bit in the second page of each record: behind the header. */
    private void flipPayloads() throws Exception {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(path -> path.getFileName().toString().startsWith("segment"))
                    .toList()) {
                try (RandomAccessFile segment = new RandomAccessFile(file.toFile(), "rw")) {
                    for (long at = 4096 + 77; at < segment.length(); at += STRIDE) {
                        segment.seek(at);
                        int value = segment.read();
                        segment.seek(at);
                        segment.write(value ^ 4);
                    }
                }
            }
        }
    }

    @Test
    void acquire_deviceFailsEachRead_isOutAndMemoryGoesOn() {
        SplittableRandom random = new SplittableRandom(6);
        int[] lost = prompt(random, 6);
        SsdAccess device = new SsdAccess();
        Held held = new Held();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64).maxErrors(2).build()), block -> true, 64, List.of(held))) {
            Pools.store(pool, Tenant.DEFAULT, lost);
            assertThat(tier.flush(Pools.soon())).isTrue();
            int[] other = prompt(random, 8);
            Pools.store(pool, Tenant.DEFAULT, other);
            // Else the writer holds a leaf, and memory has no room for what is read.
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.failReads();
            for (int i = 0; i < 4; i++) {
                try (PrefixLease hit = tier.pool().acquire(lost, Pools.soon())) {
                    // What is out has nothing.
                    assertThat(hit.missReason()).isIn(MissReason.SSD_FAILED, MissReason.NOT_CACHED);
                    assertThat(hit.missReason() == MissReason.SSD_FAILED || i > 0)
                            .isTrue();
                }
            }
            assertThat(tier.statistics().status().state()).isEqualTo(SsdStatus.State.DISABLED);
            await(() -> tier.statistics().blocks() == 0);
            // Listeners hear of it one block after the other.
            await(() -> held.keys.size() <= inMemory(pool).size());
            assertThat(held.keys).containsExactlyInAnyOrderElementsOf(inMemory(pool));
            int[] third = prompt(random, 5);
            // The writer may hold the only leaf for a moment, to find that it can't be written.
            await(() -> {
                Pools.store(pool, Tenant.DEFAULT, third);
                return pool.chain(Tenant.DEFAULT, third).stream().allMatch(pool::contains);
            });
            assertThat(requireHit(tier, pool, third)).isEqualTo(5);
            try (PrefixLease hit = tier.pool().acquire(lost, Pools.soon())) {
                assertThat(hit.missReason()).isEqualTo(MissReason.NOT_CACHED);
            }
        }
    }

    @Test
    void extend_memoryHasABlockOfTheMiddle_keepsItForTheMatch() {
        SplittableRandom random = new SplittableRandom(14);
        int[] tokens = prompt(random, 3);
        int[] other = prompt(random, 3);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4)) {
            SsdStore store = new SsdAccess().open(settings(pool, 16).build());
            try (SsdTier tier = SsdTier.over(pool, store, block -> true, 64, List.of())) {
                for (int[] stored : List.of(tokens, other)) {
                    Pools.store(pool, Tenant.DEFAULT, stored);
                    assertThat(tier.flush(Pools.soon())).isTrue();
                }
                // The middle comes up for a peer and takes the place of the first, and the SSD loses it.
                BlockKey middle = pool.chain(Tenant.DEFAULT, tokens).get(1);
                tier.pin(List.of(middle), Pools.soon()).forEach(PinnedBlock::close);
                assertThat(inMemory(pool)).contains(middle).hasSize(4);
                store.remove(middle);
                try (PrefixLease held = pool.acquire(Arrays.copyOf(other, 2 * Pools.BLOCK_TOKENS + 1), Pools.soon());
                        PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                    assertThat(held.blockCount()).isEqualTo(2);
                    // There is room for one more: the first. The third would have to take the middle's.
                    assertThat(hit.blockCount()).isEqualTo(2);
                    assertThat(hit.missReason()).isEqualTo(MissReason.NO_MEMORY);
                    requireBytes(pool, hit, tokens);
                }
            }
        }
    }

    @Test
    void store_tierIsOut_isRefusedByThePolicyAgain() {
        SplittableRandom random = new SplittableRandom(15);
        AtomicLong clock = new AtomicLong();
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4, "return-index", clock::get);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64).maxErrors(2).build()), block -> true, 64, List.of())) {
            int[] lost = prompt(random, 4);
            Pools.store(pool, Tenant.DEFAULT, lost);
            assertThat(tier.flush(Pools.soon())).isTrue();
            int[] talk = prompt(random, 4);
            for (int i = 0; i < 30; i++) {
                Pools.store(pool, Tenant.DEFAULT, talk);
                clock.addAndGet(60_000_000_000L);
            }
            Pools.store(pool, Tenant.DEFAULT, prompt(random, 2));
            assertThat(pool.stats().notAdmitted()).as("with an SSD below").isZero();
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.failReads();
            for (int i = 0; i < 4; i++) {
                tier.pool().acquire(lost, Pools.soon()).close();
            }
            assertThat(tier.statistics().status().state()).isEqualTo(SsdStatus.State.DISABLED);
            await(() -> tier.statistics().blocks() == 0);
            // The reader that met it may know it before the writer, which tells memory.
            await(() -> {
                Pools.store(pool, Tenant.DEFAULT, talk);
                pool.acquire(talk, Pools.soon()).close();
                Pools.store(pool, Tenant.DEFAULT, prompt(random, 2));
                return pool.stats().notAdmitted() > 0;
            });
        }
    }

    private static List<BlockKey> inMemory(LocalKvPool pool) {
        List<BlockKey> keys = new ArrayList<>();
        pool.forEachBlock(block -> keys.add(block.key()));
        return keys;
    }

    private static void await(java.util.function.BooleanSupplier condition) {
        Deadline deadline = Deadline.ofMillis(30_000);
        while (!condition.getAsBoolean()) {
            assertThat(deadline.expired()).isFalse();
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    @Test
    void acquire_deviceStalls_endsByItsDeadlineAndTheMemoryComesBack() {
        SplittableRandom random = new SplittableRandom(7);
        int[] tokens = prompt(random, 6);
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 12);
                SsdTier tier =
                        SsdTier.over(pool, device.open(settings(pool, 64).build()), block -> true, 64, List.of())) {
            Pools.store(pool, Tenant.DEFAULT, tokens);
            assertThat(tier.flush(Pools.soon())).isTrue();
            Pools.store(pool, Tenant.DEFAULT, prompt(random, 12));
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.hold();
            try {
                long start = System.nanoTime();
                try (PrefixLease hit = tier.pool().acquire(tokens, Deadline.ofMillis(300))) {
                    assertThat(hit.missReason()).isEqualTo(MissReason.DEADLINE);
                }
                // Whoever comes next is told at once.
                try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                    assertThat(hit.missReason()).isEqualTo(MissReason.DEADLINE);
                }
                assertThat(pool.stats().openLeases())
                        .as("reads that the device holds")
                        .isPositive();
                List<BlockKey> last = pool.chain(Tenant.DEFAULT, tokens).subList(5, 6);
                assertThat(tier.pin(last, Pools.soon())).containsOnlyNulls();
                assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(15));
            } finally {
                device.letGo();
            }
            await(() -> pool.stats().openLeases() == 0);
            await(() -> requireHit(tier, pool, tokens) == 6);
        }
    }

    @Test
    void pin_blockOnTheSsdOnly_isBroughtUpAtMostAQuarterOfMemoryACall() {
        int[] tokens = prompt(new SplittableRandom(8), 12);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 64)) {
            Pools.store(pool, Tenant.DEFAULT, tokens);
            tier.close(Pools.soon());
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = open(pool, 64)) {
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            List<PinnedBlock> pins = new ArrayList<>(tier.pin(chain, Pools.soon()));
            pins.removeIf(pin -> pin == null);
            assertThat(pins).hasSize(4);
            for (int i = 0; i < 4; i++) {
                assertThat(pins.get(i).key()).isEqualTo(chain.get(i));
                assertThat(pool.verify(pins.get(i))).isTrue();
            }
            pins.forEach(PinnedBlock::close);
            List<PinnedBlock> rest = new ArrayList<>(tier.pin(chain.subList(4, 6), Pools.soon()));
            assertThat(rest).hasSize(2).doesNotContainNull();
            rest.forEach(PinnedBlock::close);
        }
    }

    @Test
    void store_ssdFull_shortensTheOldestChainFromItsEnd() {
        SplittableRandom random = new SplittableRandom(12);
        int[] old = prompt(random, 12);
        int[] young = prompt(random, 10);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier = open(pool, 16)) {
            Pools.store(pool, Tenant.DEFAULT, old);
            assertThat(tier.flush(Pools.soon())).isTrue();
            Pools.store(pool, Tenant.DEFAULT, young);
            await(() -> pool.chain(Tenant.DEFAULT, young).stream().allMatch(tier::contains));
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, old);
            int left = (int) chain.stream().filter(tier::contains).count();
            // 16 places, two of them spare; two blocks are written at a time, and each makes room for itself.
            assertThat(left).isBetween(3, 6);
            assertThat(chain.subList(0, left)).allMatch(tier::contains);
        }
    }

    @Test
    void store_ssdFullAndCommitsTakeLong_takesOffNoMoreThanNeeded() {
        SplittableRandom random = new SplittableRandom(13);
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier =
                        SsdTier.over(pool, device.open(settings(pool, 16).build()), block -> true, 64, List.of())) {
            Pools.store(pool, Tenant.DEFAULT, prompt(random, 12));
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.slowCommits(700);
            int[] young = prompt(random, 6);
            Pools.store(pool, Tenant.DEFAULT, young);
            await(() -> pool.chain(Tenant.DEFAULT, young).stream().allMatch(tier::contains));
            assertThat(tier.statistics().evicted()).isLessThanOrEqualTo(6);
        }
    }

    @Test
    void store_queueFull_isCountedAndWrittenLater() {
        SplittableRandom random = new SplittableRandom(9);
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier =
                        SsdTier.over(pool, device.open(settings(pool, 64).build()), block -> true, 2, List.of())) {
            device.hold();
            try {
                Pools.store(pool, Tenant.DEFAULT, prompt(random, 16));
                assertThat(tier.statistics().dropped()).isGreaterThanOrEqualTo(16 - 2 - 2);
            } finally {
                device.letGo();
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().blocks()).isEqualTo(16);
            assertThat(tier.statistics().written()).isEqualTo(16);
            await(() -> tier.statistics().queued() == 0);
            assertThat(tier.statistics().lost()).isZero();
        }
    }

    @Test
    void close_queueWasFull_writesWhatItDropped() {
        int[] tokens = prompt(new SplittableRandom(14), 16);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32)) {
            Pools.store(pool, Tenant.DEFAULT, tokens);
            SsdStore store = SsdStore.open(settings(pool, 64).build());
            try (SsdTier tier = SsdTier.over(pool, store, block -> true, 1, List.of())) {
                tier.close(Pools.soon());
                assertThat(tier.statistics().dropped()).isPositive();
            }
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier = open(pool, 64)) {
            assertThat(pool.chain(Tenant.DEFAULT, tokens)).allMatch(tier::contains);
        }
    }

    @Test
    void store_writesFail_areCountedOnceAndMemoryGoesOn() {
        SsdAccess device = new SsdAccess();
        int[] tokens = prompt(new SplittableRandom(10), 6);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64).maxErrors(1_000).build()), block -> true, 64, List.of())) {
            device.failWrites();
            Pools.store(pool, Tenant.DEFAULT, tokens);
            await(() -> tier.statistics().writeFailures() == 6);
            // They are tried again, in vain.
            await(() -> tier.statistics().store().writeErrors() > 6);
            assertThat(tier.statistics().writeFailures()).isEqualTo(6);
            assertThat(tier.flush(Pools.soon())).as("what failed is over").isTrue();
            assertThat(tier.statistics().blocks()).isZero();
            assertThat(requireHit(tier, pool, tokens)).isEqualTo(6);
        }
    }

    @Test
    void store_writesFailAndArePaused_areWrittenOnceTheDeviceIsWell() {
        SsdAccess device = new SsdAccess();
        int[] tokens = prompt(new SplittableRandom(15), 6);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = SsdTier.over(
                        pool,
                        device.open(
                                settings(pool, 64).maxErrors(2).retryMillis(100).build()),
                        block -> true,
                        64,
                        List.of())) {
            device.failWrites();
            Pools.store(pool, Tenant.DEFAULT, tokens);
            await(() -> tier.statistics().writeFailures() == 6);
            assertThat(tier.statistics().status().state()).isEqualTo(SsdStatus.State.PAUSED);
            device.mend();
            await(() -> tier.statistics().blocks() == 6);
            assertThat(tier.statistics().written()).isEqualTo(6);
            await(() -> tier.statistics().status().state() == SsdStatus.State.OPEN);
            assertThat(pool.chain(Tenant.DEFAULT, tokens)).allMatch(tier::contains);
        }
    }

    @Test
    void store_diskFull_isWrittenOnceThereIsRoomAndTriedSeldomBefore() throws Exception {
        SsdAccess device = new SsdAccess();
        int[] tokens = prompt(new SplittableRandom(16), 12);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 32);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64).retryMillis(20).build()), block -> true, 2, List.of())) {
            device.fillUp();
            Pools.store(pool, Tenant.DEFAULT, tokens);
            await(() -> tier.statistics().writeFailures() + tier.statistics().dropped() >= 12);
            assertThat(tier.statistics().status().state()).isEqualTo(SsdStatus.State.NO_ROOM);
            long before = tier.statistics().store().full();
            Thread.sleep(1_000);
            // Four puts a try, a pause of a quarter of a second that doubles.
            assertThat(tier.statistics().store().full() - before).isLessThanOrEqualTo(60);
            device.mend();
            await(() -> tier.statistics().blocks() == 12);
            assertThat(tier.statistics().lost()).isZero();
            assertThat(tier.statistics().status().state()).isEqualTo(SsdStatus.State.OPEN);
        }
    }

    @Test
    void store_commitFails_isNotHeldByTheSsdAndWrittenAgain() {
        SsdAccess device = new SsdAccess();
        int[] tokens = prompt(new SplittableRandom(17), 6);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16);
                SsdTier tier = SsdTier.over(
                        pool, device.open(settings(pool, 64).retryMillis(100).build()), block -> true, 64, List.of())) {
            device.failCommits();
            Pools.store(pool, Tenant.DEFAULT, tokens);
            await(() -> tier.statistics().store().writeErrors() > 0);
            await(() -> tier.statistics().blocks() == tier.statistics().store().records());
            device.mend();
            await(() -> tier.flush(Pools.soon())
                    && pool.chain(Tenant.DEFAULT, tokens).stream().allMatch(tier::contains));
        }
    }

    @Test
    void store_notAdmitted_isAskedOnce() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 16)) {
            SsdStore store = SsdStore.open(settings(pool, 64).build());
            try (SsdTier tier = SsdTier.over(pool, store, block -> asked.incrementAndGet() < 0, 2, List.of())) {
                Pools.store(pool, Tenant.DEFAULT, prompt(new SplittableRandom(18), 8));
                assertThat(tier.flush(Pools.soon())).isTrue();
                Thread.sleep(600);
                assertThat(asked).hasValue(8);
                assertThat(tier.statistics().written()).isZero();
            }
        }
    }

    @Test
    void store_memoryLargerThanTheSsd_isWrittenOnce() throws Exception {
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier = open(pool, 16)) {
            Pools.store(pool, Tenant.DEFAULT, prompt(new SplittableRandom(19), 40));
            assertThat(tier.flush(Pools.soon())).isTrue();
            Thread.sleep(600);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().written()).isEqualTo(40);
        }
    }

    @Test
    void open_otherOwnerOrOtherModel_isRefusedOrApart() {
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = open(pool, 16)) {
            Pools.store(pool, Tenant.DEFAULT, prompt(new SplittableRandom(11), 3));
            tier.close(Pools.soon());
            assertThatThrownBy(() -> SsdTier.open(
                            pool,
                            SsdTier.settings(pool, folder, "node-2", 16L * STRIDE)
                                    .build(),
                            List.of()))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("node-1")
                    .hasMessageContaining("expected");
        }
        try (LocalKvPool other = Pools.pool(Pools.identity(ReuseMode.FAST), 8);
                SsdTier tier = open(other, 16)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.statistics().recovered()).isZero();
        }
    }

    /** Random chains through a memory and an SSD that are both too small: right bytes, and listeners that know what is held. */
    @Test
    void tier_randomLoad_keepsBytesChainsAndListenersRight() {
        SplittableRandom random = Seeds.random("ssd tier");
        Held held = new Held();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = open(pool, 64, held)) {
            List<int[]> prompts = new ArrayList<>();
            for (int i = 0; i < 24; i++) {
                int[] base = i < 4 ? new int[0] : prompts.get(random.nextInt(i));
                int shared = base.length == 0 ? 0 : random.nextInt(base.length / Pools.BLOCK_TOKENS + 1);
                int[] head = Arrays.copyOf(base, shared * Pools.BLOCK_TOKENS);
                int[] tail = prompt(random, 1 + random.nextInt(8));
                int[] tokens = Arrays.copyOf(head, head.length + tail.length);
                System.arraycopy(tail, 0, tokens, head.length, tail.length);
                prompts.add(Arrays.copyOf(tokens, Math.min(tokens.length, 20 * Pools.BLOCK_TOKENS + 1)));
            }
            int loops = Seeds.count(400, 20_000);
            for (int i = 0; i < loops; i++) {
                int[] tokens = prompts.get(random.nextInt(prompts.size()));
                try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
                    requireBytes(pool, hit, tokens);
                }
                Pools.store(pool, Tenant.DEFAULT, tokens);
                if (random.nextInt(4) == 0) {
                    assertThat(tier.flush(Pools.soon())).isTrue();
                }
            }
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().evicted()).isPositive();
            assertThat(tier.statistics().loaded()).isPositive();
            Set<BlockKey> truth = ConcurrentHashMap.newKeySet();
            truth.addAll(inMemory(pool));
            tier.onlyOnSsd().forEach(block -> {
                assertThat(tier.contains(block.key())).isTrue();
                truth.add(block.key());
            });
            assertThat(held.wrong).isEmpty();
            assertThat(held.keys).isEqualTo(truth);
            System.out.println("ssd tier: " + tier.statistics());
        }
    }
}
