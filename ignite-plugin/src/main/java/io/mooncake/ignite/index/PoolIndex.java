// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.BlockPlace;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.feed.RemovalCode;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Who holds which blocks of one pool: the holders' copies, written by the feed's followers, and look-ups by key.
 *
 * <p>Threading: safe for all threads.
 */
public final class PoolIndex {
    /** Token ids of one pool's blocks that a node remembers, where nothing else is said. */
    public static final int DEFAULT_TOKENS = 1 << 24;
    /** Most of them. */
    public static final int MAX_TOKENS = 1 << 30;
    /** Blocks of one pool that a node knows of, where nothing else is said. */
    public static final int DEFAULT_ENTRIES = 1 << 22;
    /** Most blocks of one pool. */
    public static final int MAX_ENTRIES = EntryBuckets.MAX_ENTRIES;

    private static final int KEY_WORDS = 4;
    private static final int MAX_CACHED_ROOTS = 4096;
    /** Blocks whose keys are made before the first is looked up: a prompt that nobody has costs no more. */
    private static final int FIRST_BATCH = 32;

    private static final int BATCH = 256;

    /** Of equal ones that which has more in memory. */
    private static final Comparator<Run> LONGEST_FIRST = Comparator.comparingInt(Run::blocks)
            .reversed()
            .thenComparingInt(Run::ssdBlocks)
            .thenComparing(Run::nodeId);

    private final KvIdentity identity;
    private final HolderTable table;
    /** Null where only whole blocks are shared, or there is no memory for more. */
    private final @Nullable Siblings siblings;

    private final ConcurrentHashMap<Tenant, BlockKey> roots = new ConcurrentHashMap<>();
    private final Runnable full;
    private final AtomicBoolean fullTold = new AtomicBoolean();
    private final AtomicReferenceArray<@Nullable UUID> owners = new AtomicReferenceArray<>(HolderTable.MAX_SLOTS);

    /** For {@link #DEFAULT_ENTRIES} blocks. */
    public PoolIndex(KvIdentity identity) {
        this(identity, DEFAULT_ENTRIES);
    }

    /** @param maxEntries blocks that it knows at a time, 1..{@link #MAX_ENTRIES}; the holders of more are not found */
    public PoolIndex(KvIdentity identity, int maxEntries) {
        this(identity, maxEntries, () -> {});
    }

    /** @param full called once, when the first block finds no room, by who announced it */
    public PoolIndex(KvIdentity identity, int maxEntries, Runnable full) {
        this(identity, maxEntries, 0, full);
    }

    /** @param maxTokens ids that it remembers of blocks of a pool in FAST mode, so that parts of blocks are found; 0 for none */
    public PoolIndex(KvIdentity identity, int maxEntries, long maxTokens, Runnable full) {
        if (maxEntries < 1 || maxEntries > MAX_ENTRIES) {
            throw MooncakeException.invalid("index entries", maxEntries, "1.." + MAX_ENTRIES);
        }
        this.identity = identity;
        this.full = full;
        table = new HolderTable(maxEntries);
        boolean parts = identity.mode() == ReuseMode.FAST && maxTokens >= identity.blockTokens();
        siblings = parts ? new Siblings(identity.blockTokens(), maxTokens) : null;
    }

    /** Bytes off the heap that {@code maxEntries} blocks take. */
    public static long bytes(int maxEntries) {
        return HolderTable.bytes(maxEntries);
    }

    /** Bytes off the heap that {@code maxTokens} remembered ids of blocks in FAST mode take, besides. */
    public static long tokenBytes(int blockTokens, long maxTokens) {
        return Siblings.bytes(blockTokens, maxTokens);
    }

    /** What the pool's blocks mean. */
    public KvIdentity identity() {
        return identity;
    }

    /** Where the follower of {@code nodeId} writes. */
    public HolderSink sink(UUID nodeId) {
        return () -> new SlotCopy(nodeId);
    }

    /**
     * Who has the beginning of {@code tokens}, and how many of its whole blocks that may be reused without a gap, longest first. Keys are made as
     * far as somebody has them.
     */
    public List<Run> runs(Tenant tenant, int[] tokens) {
        int blocks = reusableBlocks(tokens.length);
        int blockTokens = identity.blockTokens();
        ChainKeys chain = new ChainKeys();
        BlockKey parent = root(tenant);
        HolderMatch match = new HolderMatch();
        int batch = FIRST_BATCH;
        for (int done = 0; done < blocks; done += batch, batch = BATCH) {
            batch = Math.min(batch, blocks - done);
            BlockKey[] keys = chain.chain(parent, tokens, done * blockTokens, blockTokens, batch);
            if (!table.walk(words(Arrays.asList(keys), 0), 0, batch, match)) {
                break;
            }
            parent = keys[batch - 1];
        }
        return runs(match);
    }

    /** Its computing takes as long as forty blocks. */
    private BlockKey root(Tenant tenant) {
        BlockKey root = roots.get(tenant);
        if (root == null) {
            root = ChainKeys.root(identity, tenant.salt());
            if (roots.size() >= MAX_CACHED_ROOTS) {
                roots.clear();
            }
            roots.put(tenant, root);
        }
        return root;
    }

    /** Holders of {@code keys[from]} and how many blocks from there each has without a gap, longest first. */
    public List<Run> runs(List<BlockKey> keys, int from) {
        return runs(words(keys, from), keys.size() - from);
    }

    /** The same for the first {@code blocks} keys of {@code words}, four longs each. */
    public List<Run> runs(long[] words, int blocks) {
        HolderMatch match = new HolderMatch();
        table.walk(words, 0, blocks, match);
        return runs(match);
    }

    /** The keys from {@code keys[from]} on as {@link #runs(long[], int)} takes them. */
    public static long[] words(List<BlockKey> keys, int from) {
        long[] words = new long[KEY_WORDS * (keys.size() - from)];
        for (int i = from, at = 0; i < keys.size(); i++) {
            BlockKey key = keys.get(i);
            words[at++] = key.word0();
            words[at++] = key.word1();
            words[at++] = key.word2();
            words[at++] = key.word3();
        }
        return words;
    }

    private List<Run> runs(HolderMatch match) {
        List<Run> runs = new ArrayList<>(match.size());
        for (int i = 0; i < match.size(); i++) {
            UUID owner = owners.get(match.slot(i));
            // In this order: a slot that has another owner by now has another life, too.
            if (owner != null && table.lives(match, i)) {
                runs.add(new Run(owner, match.blocks(i), match.cold(i)));
            }
        }
        if (runs.size() > 1) {
            runs.sort(LONGEST_FIRST);
            // While a copy is exchanged for a newer one, both are seen.
            Set<UUID> seen = new HashSet<>();
            runs.removeIf(run -> !seen.add(run.nodeId()));
        }
        return runs;
    }

    /**
     * The block after {@code parent} that begins with most of {@code tokens[from..]}, the last token excepted, which is always computed. Only of blocks that
     * were announced lately; what is found is a child of {@code parent} with these tokens for certain, its holders are as late as any.
     *
     * @param parent key of the last whole block, or the root of the pool's tenant
     * @param from of the first token after it
     * @return null where nobody has one that begins alike, and in EXACT mode
     */
    public @Nullable Partial partial(BlockKey parent, int[] tokens, int from) {
        int count = tokens.length - 1 - from;
        if (siblings == null || count < 1) {
            return null;
        }
        Siblings.Found found = siblings.find(
                parent, tokens, from, count, key -> !runs(List.of(key), 0).isEmpty());
        if (found == null) {
            return null;
        }
        List<UUID> holders =
                runs(List.of(found.key()), 0).stream().map(Run::nodeId).toList();
        return holders.isEmpty() ? null : new Partial(found.key(), found.tokens(), holders);
    }

    /** Other nodes that hold {@code key}. */
    public int holderCount(BlockKey key) {
        return runs(List.of(key), 0).size();
    }

    /** Why nobody else has {@code key} any more, of the last ones that went; empty when somebody has it or nothing is known. */
    public Optional<MissReason> whyGone(BlockKey key) {
        return switch (table.whyGone(words(List.of(key), 0))) {
            case Graves.EVICTED -> Optional.of(MissReason.EVICTED);
            case Graves.REMOVED -> Optional.of(MissReason.REMOVED);
            case Graves.NODE_LOST -> Optional.of(MissReason.NODE_LOST);
            default -> Optional.empty();
        };
    }

    /** What others hold, entry by entry as it is taken; one that comes or goes meanwhile may be missed. Holds no lock between entries. */
    public Iterator<HeldCopy> held() {
        long[] words = new long[KEY_WORDS];
        return new HeldCopies((entry, found) -> {
            if (entry >= table.count()) {
                return false;
            }
            BitSet marks = table.read(entry, words);
            if (marks != null) {
                BlockKey key = new BlockKey(words[0], words[1], words[2], words[3]);
                for (int mark = marks.nextSetBit(0); mark >= 0; mark = marks.nextSetBit(mark + 1)) {
                    UUID owner = owners.get(Marks.slotOf(mark));
                    if (owner != null && table.shown(Marks.slotOf(mark))) {
                        found.add(new HeldCopy(key, owner, BlockPlace.of(Marks.placeOf(mark))));
                    }
                }
            }
            return true;
        });
    }

    /** Pairs of block and holder that look-ups find: a copy that is being filled does not count before it is shown. */
    public long entries() {
        return table.shownPairs();
    }

    /** Blocks for which there was no room. */
    public long refused() {
        return table.refused();
    }

    /** Waits until what was dropped is cleared, for tests. */
    void awaitSwept() throws InterruptedException {
        table.awaitSwept();
    }

    /** Bytes that remembered token ids take off the heap now. */
    public long tokenBytes() {
        return siblings == null ? 0 : siblings.bytes();
    }

    /** Bytes that it takes off the heap now, token ids excepted. */
    public long bytes() {
        return table.bytes();
    }

    private int reusableBlocks(int promptTokens) {
        // At least the last token is computed, in both modes.
        return Math.max(0, promptTokens - 1) / identity.blockTokens();
    }

    /**
     * Blocks that one node holds in a row.
     *
     * @param nodeId the holder
     * @param blocks at least 1
     * @param ssdBlocks how many of them it has on its SSD alone, so that a lease of them waits
     */
    public record Run(UUID nodeId, int blocks, int ssdBlocks) {
        /** All of them in memory. */
        public Run(UUID nodeId, int blocks) {
            this(nodeId, blocks, 0);
        }
    }

    /**
     * A block of which only the beginning is wanted.
     *
     * @param key the block
     * @param tokens how many it has in common with the prompt, at least 1
     * @param holders who has it, at least one
     */
    public record Partial(BlockKey key, int tokens, List<UUID> holders) {
        public Partial {
            holders = List.copyOf(holders);
        }
    }

    private static int reason(RemovalCode cause) {
        return switch (cause) {
            case UNKNOWN -> Graves.NONE;
            case EVICTED -> Graves.EVICTED;
            case REMOVED, LOST -> Graves.REMOVED;
        };
    }

    private final class SlotCopy implements HolderSink.Copy {
        private final int slot = table.open();
        private boolean dropped;

        SlotCopy(UUID nodeId) {
            owners.set(slot, nodeId);
        }

        @Override
        public synchronized void apply(EventCursor event) {
            if (dropped) {
                return;
            }
            switch (event.kind()) {
                case STORED -> stored(event);
                case PLACED -> store(event.place().code(), event.key());
                case REMOVED -> table.remove(slot, event.key(), reason(event.cause()));
            }
        }

        private void stored(EventCursor event) {
            // Of what somebody has already, the tokens are known. Version 1 of the feed tells none.
            boolean tells =
                    siblings != null && event.tokenCount() == identity.blockTokens() && !table.known(event.key());
            if (store(event.place().code(), event.key()) && tells && siblings != null) {
                siblings.add(event.parent(), event.key(), event.tokens());
            }
        }

        private boolean store(int place, long[] key) {
            boolean stored = table.store(slot, place, key);
            if (!stored && table.refused() > 0 && fullTold.compareAndSet(false, true)) {
                full.run();
            }
            return stored;
        }

        @Override
        public synchronized void show() {
            if (!dropped) {
                table.show(slot);
            }
        }

        @Override
        public void drop() {
            end(false);
        }

        @Override
        public void lose() {
            end(true);
        }

        private synchronized void end(boolean lost) {
            if (!dropped) {
                dropped = true;
                owners.set(slot, null);
                table.drop(slot, lost);
            }
        }
    }
}
