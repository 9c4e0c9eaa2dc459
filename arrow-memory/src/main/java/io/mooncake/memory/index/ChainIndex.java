// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.index.ParkedBlocks.Parked;
import io.mooncake.memory.index.PrefixTree.Appended;
import io.mooncake.memory.index.PrefixTree.Removed;
import io.mooncake.memory.index.PrefixTree.Root;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;

/**
 * The index of a pool: which of its slots has which block, found by tokens from a root (the longest prefix, to the token, in a {@link
 * PrefixTree}) or by key. A new block is hung behind its parent by the parent's key, without a walk from the root.
 *
 * <p><b>Ids.</b> What is found is an id: slot and generation of a block, {@link #id}. Between finding a block and taking hold of it the slot may
 * get another one; its generation is another then.
 *
 * <p><b>Order of arrival.</b> A block may come before its parent, as the middle of a chain that only an SSD has. It is <i>parked</i>: found by key,
 * not by tokens, since nothing leads to it. When its parent comes into the tree, so does the block, and what waits for it in its turn. So what
 * is found by tokens never has a gap.
 *
 * <p><b>Removal.</b> A block that another one follows, in the tree or parked, is refused.
 *
 * <p><b>Collisions.</b> Hashes choose where to look, never what is found: all tokens of a match are compared, all 256 bits of a key are.
 *
 * <p><b>Threading.</b> Safe for all threads. Changes take a lock; {@link #find} and {@link #match} take none, and go on while the index changes.
 *
 * <p><b>Memory.</b> At most {@code 4 * blockTokens + 80} bytes a block, 60 to 64 a node of the tree (one a chain, up to two a block where prompts
 * branch all the time), and some 200 a parked block. Never full before all slots are used.
 */
public final class ChainIndex {
    /** Stands where there is no id. */
    public static final long ABSENT = -1;

    /** Most slots. */
    public static final int MAX_SLOTS = 1 << 25;

    private static final int SLOT_BITS = 25;
    private static final long DISTURBED = -2;
    /** In {@link #places}: no block. */
    private static final int EMPTY = -1;
    /** In {@link #places}: a block outside of the tree. */
    private static final int PARKED = -2;

    /** What became of an {@link #insert}. */
    public enum Insert {
        /** The block is in the index now. */
        ADDED,
        /** The key has a block already, which stays. */
        EXISTS,
        /** The tree has no room. */
        FULL,
        /** The key is known with another parent or other tokens, or the tokens with another key: not a chain of one identity. */
        CONFLICT
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final PrefixTree tree;
    private final KeyTable keys;
    private final ParkedBlocks parked = new ParkedBlocks();
    /** Position in the tree of a slot's block, EMPTY or PARKED. */
    private final int[] places;

    private volatile int size;

    /**
     * @param blockTokens tokens a block, 1..{@link PrefixTree#MAX_BLOCK_TOKENS}
     * @param vocabulary token ids are below it; the caller sees to it
     * @param slots 1..{@link #MAX_SLOTS}; times {@code blockTokens} at most {@link PrefixTree#MAX_STORED_TOKENS}
     */
    public ChainIndex(int blockTokens, int vocabulary, int slots) {
        this(PrefixTree.ofAnyShape(blockTokens, vocabulary, slots), slots, -1, true);
    }

    /**
     * For tests of collisions.
     *
     * @param hashMask bits of every hash that are used
     * @param compareInFull false takes the first block of equal hash, which serves foreign data
     */
    ChainIndex(int blockTokens, int vocabulary, int slots, int hashMask, boolean compareInFull) {
        this(
                new PrefixTree(
                        blockTokens,
                        vocabulary,
                        slots,
                        PrefixTree.anyShapeNodes(slots),
                        false,
                        hashMask,
                        new PrefixTree.Checks(compareInFull, true)),
                slots,
                hashMask,
                compareInFull);
    }

    private ChainIndex(PrefixTree tree, int slots, int hashMask, boolean compareKeys) {
        if (slots > MAX_SLOTS) {
            throw MooncakeException.invalid("slots", slots, "1.." + MAX_SLOTS);
        }
        this.tree = tree;
        keys = new KeyTable(slots, ThreadLocalRandom.current().nextLong(), hashMask, compareKeys);
        places = new int[slots];
        Arrays.fill(places, EMPTY);
    }

    // ------------------------------------------------------------------------------------------------------------
    // ids

    /** The id of the block of {@code generation} in {@code slot}. */
    public static long id(int slot, long generation) {
        return (generation << SLOT_BITS | slot) & Long.MAX_VALUE;
    }

    /** The slot in {@code id}. */
    public static int slot(long id) {
        return (int) id & (MAX_SLOTS - 1);
    }

    /** The generation in {@code id}, its lower 38 bits. */
    public static long generation(long id) {
        return id >>> SLOT_BITS;
    }

    // ------------------------------------------------------------------------------------------------------------
    // look-up

    /** The id of the block {@code key}, or {@link #ABSENT}. */
    public long find(BlockKey key) {
        long id = keys.find(key, ABSENT, DISTURBED);
        if (id != DISTURBED) {
            return id;
        }
        lock.lock();
        try {
            int slot = keys.slot(key);
            return slot == KeyTable.NONE ? ABSENT : keys.id(slot);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The longest prefix of {@code tokens[0..limit)} below {@code root}, to the token.
     *
     * @param root key of the empty prefix
     * @param tokens checked by the caller
     * @param out overwritten: ids of the blocks
     */
    public void match(BlockKey root, int[] tokens, int limit, PrefixMatch out) {
        Root found = tree.findRoot(root);
        if (found == null) {
            Objects.checkFromToIndex(0, limit, tokens.length);
            out.clear();
        } else {
            tree.find(found, tokens, limit, out);
        }
    }

    /** The key of the block in {@code slot}, for whoever keeps it in place. */
    public BlockKey key(int slot) {
        return keys.key(slot);
    }

    /** The first word of that key. */
    public long name(int slot) {
        return keys.name(slot);
    }

    // ------------------------------------------------------------------------------------------------------------
    // change

    /**
     * Adds block {@code key} behind {@code parent} with {@code tokens[from..from+blockTokens)}, which are copied. Keys are taken at their word:
     * whoever has them from elsewhere checks them by {@link io.mooncake.memory.block.ChainKeys#next}.
     *
     * @param first whether {@code parent} is the key of an empty prefix
     * @param id of a slot that has no block
     */
    public Insert insert(BlockKey parent, boolean first, BlockKey key, int[] tokens, int from, long id) {
        if (parent.equals(key)) {
            return Insert.CONFLICT;
        }
        lock.lock();
        try {
            int known = keys.slot(key);
            if (known != KeyTable.NONE) {
                return sameChain(known, parent, tokens, from) ? Insert.EXISTS : Insert.CONFLICT;
            }
            int slot = slot(id);
            if (places[slot] != EMPTY) {
                throw new MooncakeException(Code.ILLEGAL_STATE, "slot " + slot + ": has a block (expected: none)");
            }
            Insert outcome = place(parent, first, tokens, from, id);
            if (outcome == Insert.ADDED) {
                keys.put(slot, key, id);
                size++;
                if (places[slot] != PARKED) {
                    hangWaiting(slot);
                }
            }
            return outcome;
        } finally {
            lock.unlock();
        }
    }

    private boolean sameChain(int slot, BlockKey parent, int[] tokens, int from) {
        int place = places[slot];
        if (place == PARKED) {
            Parked block = Objects.requireNonNull(parked.get(slot));
            int end = from + block.tokens().length;
            return block.parent().equals(parent)
                    && Arrays.equals(block.tokens(), 0, block.tokens().length, tokens, from, end);
        }
        int before = tree.parent(place);
        BlockKey own = before == PrefixTree.NONE ? tree.rootOf(place).key() : keys.key(slot(tree.id(before)));
        return own.equals(parent) && tree.hasTokens(place, tokens, from);
    }

    private Insert place(BlockKey parent, boolean first, int[] tokens, int from, long id) {
        int before = keys.slot(parent);
        Appended appended;
        if (before != KeyTable.NONE && places[before] != PARKED) {
            appended = tree.append(places[before], tokens, from, id, 0);
        } else {
            Root root = before != KeyTable.NONE ? null : first ? tree.root(parent) : tree.findRoot(parent);
            if (root == null) {
                places[slot(id)] = PARKED;
                int[] own = Arrays.copyOfRange(tokens, from, from + tree.blockTokens());
                parked.add(new Parked(slot(id), parent, own, id));
                return Insert.ADDED;
            }
            appended = tree.append(root, tokens, from, id, 0);
            tree.drop(root); // does nothing but where nothing was added
        }
        if (appended.added()) {
            places[slot(id)] = appended.position();
            return Insert.ADDED;
        }
        return appended.position() == PrefixTree.NONE ? Insert.FULL : Insert.CONFLICT;
    }

    /** {@code slot} has come into the tree: so can what waits for it. */
    private void hangWaiting(int slot) {
        if (parked.count() == 0) {
            return;
        }
        ArrayDeque<Integer> parents = new ArrayDeque<>();
        parents.add(slot);
        for (Integer parent = parents.poll(); parent != null; parent = parents.poll()) {
            for (Parked block : parked.take(keys.key(parent))) {
                Appended appended = tree.append(places[parent], block.tokens(), 0, block.id(), 0);
                if (appended.added()) {
                    places[block.slot()] = appended.position();
                    parents.add(block.slot());
                } else {
                    // Its tokens are there under another key, so it is no block of the chain: it stays outside until it
                    // goes.
                    parked.add(block);
                }
            }
        }
    }

    /**
     * Removes the block in {@code slot}.
     *
     * @return the slot of the block that no other follows any more because of it, or -1
     * @throws MooncakeException ILLEGAL_STATE when there is none, or another one follows it
     */
    public int remove(int slot) {
        lock.lock();
        try {
            if (places[slot] == EMPTY || follows(slot)) {
                throw new MooncakeException(
                        Code.ILLEGAL_STATE,
                        "slot " + slot + ": " + (places[slot] == EMPTY ? "empty" : "followed")
                                + " (expected: a block that none follows)");
            }
            int exposed = places[slot] == PARKED ? removeParked(slot) : removePlaced(slot);
            keys.remove(slot);
            places[slot] = EMPTY;
            size--;
            return exposed == EMPTY || follows(exposed) ? EMPTY : exposed;
        } finally {
            lock.unlock();
        }
    }

    private int removeParked(int slot) {
        Parked block = Objects.requireNonNull(parked.get(slot));
        parked.remove(block);
        return keys.slot(block.parent());
    }

    private int removePlaced(int slot) {
        int place = places[slot];
        Root root = tree.parent(place) == PrefixTree.NONE ? tree.rootOf(place) : null;
        Removed removed = tree.remove(place, keys.id(slot));
        if (root != null) {
            tree.drop(root);
        }
        return removed.exposed() == PrefixTree.NONE ? EMPTY : slot(tree.id(removed.exposed()));
    }

    /**
     * The block in {@code slot} and all that follow it, parked ones included, each behind its parent.
     *
     * @throws MooncakeException ILLEGAL_STATE when there is none
     */
    public int[] chainFrom(int slot) {
        lock.lock();
        try {
            if (places[slot] == EMPTY) {
                throw new MooncakeException(Code.ILLEGAL_STATE, "slot " + slot + ": empty (expected: a block)");
            }
            IntList found = new IntList();
            found.add(slot);
            if (places[slot] != PARKED) {
                tree.forEachBehind(places[slot], place -> found.add(slot(tree.id(place))));
            }
            addWaiting(found);
            return found.toArray();
        } finally {
            lock.unlock();
        }
    }

    /** Block {@code key} and all that follow it, as {@link #chainFrom(int)}; where it is not here, those that wait for it and all that follow them. */
    public int[] chainFrom(BlockKey key) {
        lock.lock();
        try {
            int slot = keys.slot(key);
            if (slot != KeyTable.NONE) {
                return chainFrom(slot);
            }
            IntList found = new IntList();
            parked.waiting(key).forEach(block -> found.add(block.slot()));
            addWaiting(found);
            return found.toArray();
        } finally {
            lock.unlock();
        }
    }

    /** Adds what waits for those that were found, and for those. */
    private void addWaiting(IntList found) {
        for (int i = 0; parked.count() > 0 && i < found.size(); i++) {
            parked.waiting(keys.key(found.get(i))).forEach(block -> found.add(block.slot()));
        }
    }

    /** Whether a block follows the one in {@code slot}. */
    public boolean isFollowed(int slot) {
        lock.lock();
        try {
            return places[slot] != EMPTY && follows(slot);
        } finally {
            lock.unlock();
        }
    }

    private boolean follows(int slot) {
        boolean inTree = places[slot] != PARKED && !tree.isLeaf(places[slot], keys.id(slot));
        return inTree || parked.count() > 0 && parked.anyWaits(keys.key(slot));
    }

    // ------------------------------------------------------------------------------------------------------------
    // look around

    /** Shows the slot of every block, under the lock of changes. The visitor must not change the index. */
    public void forEachSlot(IntConsumer visitor) {
        lock.lock();
        try {
            for (int slot = 0; slot < places.length; slot++) {
                if (places[slot] != EMPTY) {
                    visitor.accept(slot);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Blocks. */
    public int size() {
        return size;
    }

    /** Those of them that wait for their parents. */
    public int parked() {
        lock.lock();
        try {
            return parked.count();
        } finally {
            lock.unlock();
        }
    }

    /** Bytes that it takes now. */
    public long memoryBytes() {
        return tree.memoryBytes()
                + keys.bytes()
                + 4L * places.length
                + ParkedBlocks.bytes(tree.blockTokens(), parked());
    }

    /** The most that {@link #memoryBytes} becomes, whatever the prompts are. */
    public static long maxMemoryBytes(int blockTokens, int slots) {
        // All of them may come before their parents; then the tree is empty, but keeps what it has.
        return PrefixTree.maxMemoryBytes(blockTokens, slots)
                + KeyTable.bytes(slots)
                + 4L * slots
                + ParkedBlocks.bytes(blockTokens, slots);
    }
}
