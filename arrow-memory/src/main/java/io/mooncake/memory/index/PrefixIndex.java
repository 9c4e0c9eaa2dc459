// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static io.mooncake.memory.index.NodeStore.LINKED;
import static io.mooncake.memory.index.NodeStore.NONE;
import static io.mooncake.memory.index.NodeStore.USED;
import static io.mooncake.memory.index.NodeStore.VALUED;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.StampedLock;
import org.jspecify.annotations.Nullable;

/**
 * A tree of token blocks in primitive arrays: which blocks follow which, found by tokens (longest match, to the token) or by key, each with
 * a {@code long} that is the caller's own: a slot, a set of holders. Roots are the keys of empty prefixes ({@link
 * io.mooncake.memory.block.ChainKeys#root}); one index holds any number of them, so tenants share it and never meet.
 *
 * <p><b>Collisions.</b> Hashes choose where to look, never what is found: a child is compared by parent and all its tokens, a key by all
 * its 256 bits.
 *
 * <p><b>Order of arrival.</b> A child may come before its parent: the parent's key then has a placeholder, which becomes an ordinary node when
 * the parent is inserted. Until then the child is found by key, not by tokens from the root. A node that is removed while it has children
 * stays as such a placeholder and is freed with its last child, so nothing leaks, and its children are found again when it returns.
 *
 * <p><b>Threading.</b> Safe for all threads. Changes take a write lock. Look-ups run optimistically without a lock and are repeated when a
 * change came in between; after two failures they take a read lock. {@link #forEach} holds the read lock: its visitor must not change the
 * index.
 *
 * <p><b>Memory.</b> About {@code 120 + 4 * blockTokens} bytes a node on the heap, doubled on demand up to the bound given at the start.
 */
public final class PrefixIndex {
    /** Stands where there is no value; never stored. */
    public static final long ABSENT = Long.MIN_VALUE;

    private static final int INITIAL_NODES = 256;
    private static final int OPTIMISTIC_TRIES = 2;

    /** What became of an {@link #insert}. */
    public enum Insert {
        /** The block is in the index now. */
        ADDED,
        /** The key has a value already, which stays. */
        EXISTS,
        /** All nodes are used. */
        FULL,
        /** The key is known with another parent or other tokens, or the tokens with another key: not a chain of one identity. */
        CONFLICT
    }

    /**
     * What a removal did.
     *
     * @param value the value that the key had, or {@link #ABSENT}
     * @param exposed the value of the ancestor that has no children any more because of it, or {@link #ABSENT}
     */
    public record Removal(long value, long exposed) {}

    /** Receives the blocks of {@link #forEach}. */
    @FunctionalInterface
    public interface Visitor {
        void visit(BlockKey key, BlockKey parent, int[] tokens, long value);
    }

    private final StampedLock lock = new StampedLock();
    private final int blockTokens;
    private final int maxNodes;
    private final boolean compareInFull;
    /** Replaced under the write lock when it grows; final fields inside make it safe for optimistic readers. */
    private NodeStore nodes;

    private int nodeCount;
    private int valueCount;

    /**
     * @param blockTokens tokens a block, at least 1
     * @param maxNodes most nodes ever, roots and placeholders included, 2..268,435,456
     */
    public PrefixIndex(int blockTokens, int maxNodes) {
        this(blockTokens, maxNodes, -1, true);
    }

    /**
     * For tests of collisions.
     *
     * @param hashMask bits of every hash that are used
     * @param compareInFull false takes the first node of equal hash, which serves foreign data
     */
    PrefixIndex(int blockTokens, int maxNodes, int hashMask, boolean compareInFull) {
        if (blockTokens < 1) {
            throw MooncakeException.invalid("blockTokens", blockTokens, "at least 1");
        }
        if (maxNodes < 2 || maxNodes > 1 << 28) {
            throw MooncakeException.invalid("maxNodes", maxNodes, "2.." + (1 << 28));
        }
        this.blockTokens = blockTokens;
        this.maxNodes = maxNodes;
        this.compareInFull = compareInFull;
        long seed = ThreadLocalRandom.current().nextLong(); // nobody can choose tokens that collide
        nodes = new NodeStore(blockTokens, Math.min(INITIAL_NODES, maxNodes), seed, hashMask);
    }

    /**
     * Adds block {@code key} behind {@code parent} with {@code tokens[tokensOffset..tokensOffset+blockTokens)}, which are copied. Keys are
     * taken at their word: whoever has them from elsewhere checks them by {@link io.mooncake.memory.block.ChainKeys#next}.
     */
    public Insert insert(BlockKey parent, BlockKey key, int[] tokens, int tokensOffset, long value) {
        Objects.checkFromIndexSize(tokensOffset, blockTokens, tokens.length);
        if (value == ABSENT) {
            throw MooncakeException.invalid("value", value, "anything but ABSENT");
        }
        if (parent.equals(key)) {
            return Insert.CONFLICT;
        }
        long stamp = lock.writeLock();
        try {
            return insertLocked(parent, key, tokens, tokensOffset, value);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    private Insert insertLocked(BlockKey parentKey, BlockKey key, int[] tokens, int offset, long value) {
        int node = nodes.findDigest(key, compareInFull);
        if (node != NONE && nodes.is(node, VALUED)) {
            return sameChain(node, parentKey, tokens, offset) ? Insert.EXISTS : Insert.CONFLICT;
        }
        int parent = nodes.findDigest(parentKey, compareInFull);
        if (node != NONE && nodes.is(node, LINKED)) {
            if (!sameChain(node, parentKey, tokens, offset)) {
                return Insert.CONFLICT;
            }
        } else {
            if (parent != NONE && nodes.findChild(parent, tokens, offset, compareInFull) != NONE) {
                return Insert.CONFLICT;
            }
            int wanted = (parent == NONE ? 1 : 0) + (node == NONE ? 1 : 0);
            if (!makeRoom(wanted)) {
                return Insert.FULL;
            }
            if (parent == NONE) {
                parent = nodes.add(parentKey);
            }
            if (node == NONE) {
                node = nodes.add(key);
            }
            nodeCount += wanted;
            nodes.link(node, parent, tokens, offset);
        }
        nodes.values[node] = value;
        nodes.flags[node] |= VALUED;
        valueCount++;
        SiblingTree.insert(nodes, nodes.parents[node], node);
        return Insert.ADDED;
    }

    private boolean sameChain(int node, BlockKey parentKey, int[] tokens, int offset) {
        return !compareInFull
                || (nodes.key(nodes.parents[node]).equals(parentKey)
                        && nodes.commonTokens(node, tokens, offset, blockTokens) == blockTokens);
    }

    private boolean makeRoom(int wanted) {
        if (nodeCount + wanted > maxNodes) {
            return false;
        }
        if (nodeCount + wanted > nodes.capacity) {
            nodes = new NodeStore(nodes, (int) Math.min(2L * nodes.capacity, maxNodes));
        }
        return true;
    }

    /** Removes {@code key}; returns the value it had, or {@link #ABSENT}. */
    public long remove(BlockKey key) {
        return take(key).value();
    }

    /** Removes {@code key} and tells which ancestor it exposed as a leaf. */
    public Removal take(BlockKey key) {
        long stamp = lock.writeLock();
        try {
            int node = nodes.findDigest(key, compareInFull);
            if (node == NONE || !nodes.is(node, VALUED)) {
                return new Removal(ABSENT, ABSENT);
            }
            long value = nodes.values[node];
            SiblingTree.remove(nodes, nodes.parents[node], node);
            nodes.flags[node] &= ~VALUED;
            valueCount--;
            int at = node;
            while (at != NONE && !nodes.is(at, VALUED) && nodes.childCounts[at] == 0) {
                at = nodes.drop(at);
                nodeCount--;
            }
            boolean exposed = at != NONE && at != node && nodes.is(at, VALUED) && nodes.childCounts[at] == 0;
            return new Removal(value, exposed ? nodes.values[at] : ABSENT);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** The value of {@code key}, or {@link #ABSENT}. */
    public long find(BlockKey key) {
        for (int i = 0; i < OPTIMISTIC_TRIES; i++) {
            long stamp = lock.tryOptimisticRead();
            if (stamp != 0) {
                long value = findIn(nodes, key);
                if (lock.validate(stamp)) {
                    return value;
                }
            }
        }
        long stamp = lock.readLock();
        try {
            return findIn(nodes, key);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private long findIn(NodeStore in, BlockKey key) {
        int node = in.findDigest(key, compareInFull);
        return node == NONE || !in.is(node, VALUED) ? ABSENT : in.values[node];
    }

    /** Replaces the value of {@code key} if it has one; returns the previous one, or {@link #ABSENT}. */
    public long replace(BlockKey key, long value) {
        if (value == ABSENT) {
            throw MooncakeException.invalid("value", value, "anything but ABSENT");
        }
        long stamp = lock.writeLock();
        try {
            int node = nodes.findDigest(key, compareInFull);
            if (node == NONE || !nodes.is(node, VALUED)) {
                return ABSENT;
            }
            long previous = nodes.values[node];
            nodes.values[node] = value;
            return previous;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** The parent of {@code key}, or null when the key is unknown, or known from its children only. */
    public @Nullable BlockKey parent(BlockKey key) {
        long stamp = lock.readLock();
        try {
            int node = nodes.findDigest(key, compareInFull);
            return node == NONE || !nodes.is(node, LINKED) ? null : nodes.key(nodes.parents[node]);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Whether any block that is indexed comes behind {@code key}. */
    public boolean hasChildren(BlockKey key) {
        long stamp = lock.readLock();
        try {
            int node = nodes.findDigest(key, compareInFull);
            return node != NONE && nodes.childCounts[node] > 0;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * The longest match of {@code tokens[from..limit)} behind {@code start}: whole blocks as far as each next one has a value, then the
     * sibling that shares most of what follows.
     *
     * @param start a root, or the key of the block that ends before {@code from}
     * @param partial whether a block may match in part
     * @param out overwritten
     */
    public void match(BlockKey start, int[] tokens, int from, int limit, boolean partial, IndexMatch out) {
        Objects.checkFromToIndex(from, limit, tokens.length);
        for (int i = 0; i < OPTIMISTIC_TRIES; i++) {
            long stamp = lock.tryOptimisticRead();
            if (stamp != 0) {
                matchIn(nodes, start, tokens, from, limit, partial, out);
                if (lock.validate(stamp)) {
                    return;
                }
            }
        }
        long stamp = lock.readLock();
        try {
            matchIn(nodes, start, tokens, from, limit, partial, out);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private void matchIn(
            NodeStore in, BlockKey start, int[] tokens, int from, int limit, boolean partial, IndexMatch out) {
        out.clear();
        int node = in.findDigest(start, compareInFull);
        int at = from;
        while (node != NONE && limit - at >= blockTokens) {
            int child = in.findChild(node, tokens, at, compareInFull);
            if (child == NONE || !in.is(child, VALUED)) {
                break;
            }
            out.add(in.values[child], in.digests, 4 * child);
            node = child;
            at += blockTokens;
        }
        if (partial && node != NONE && at < limit) {
            int count = Math.min(blockTokens, limit - at);
            int sibling = SiblingTree.longest(in, node, tokens, at, count);
            if (sibling != NONE) {
                out.partial(in.commonTokens(sibling, tokens, at, count), in.values[sibling], in.digests, 4 * sibling);
            }
        }
    }

    /** Blocks with a value. */
    public int size() {
        long stamp = lock.readLock();
        try {
            return valueCount;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Nodes used, roots and placeholders included. */
    public int nodeCount() {
        long stamp = lock.readLock();
        try {
            return nodeCount;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Shows every block with a value, in no particular order, under the read lock. */
    public void forEach(Visitor visitor) {
        long stamp = lock.readLock();
        try {
            for (int node = 0; node < nodes.usedNodes(); node++) {
                if (nodes.is(node, USED) && nodes.is(node, VALUED)) {
                    visitor.visit(
                            nodes.key(node), nodes.key(nodes.parents[node]), nodes.tokens(node), nodes.values[node]);
                }
            }
        } finally {
            lock.unlockRead(stamp);
        }
    }
}
