// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;

/**
 * The nodes of a {@link PrefixIndex}: struct of arrays, two open-addressing tables (by digest, and by parent and tokens) with linear probing
 * and backward-shift deletion, and for each node a treap of its valued children in token order.
 *
 * <p>Written under the index's write lock. Read also by optimistic readers who may see half of a change: every probe and descent is
 * therefore bounded, every node id in a table is within the arrays that this object has held from its start, and what was read counts only
 * when the reader's stamp holds.
 */
final class NodeStore {
    static final int NONE = -1;

    static final byte USED = 1;
    /** Parent and tokens are known; else the node is a placeholder that only its children named. */
    static final byte LINKED = 2;
    /** The node has a value; else it stands for its descendants only. */
    static final byte VALUED = 4;

    private static final int PAGE_SHIFT = 8;
    private static final int PAGE_NODES = 1 << PAGE_SHIFT;

    final int blockTokens;
    final int capacity;
    final long seed;
    final int hashMask;
    final long[] digests;
    final long[] values;
    final int[] parents;
    final int[] childCounts;
    final byte[] flags;
    /** Treap of valued children: its root, and the links of each child. */
    final int[] subRoots;

    final int[] lefts;
    final int[] rights;

    private final int[] tokenHashes;
    private final int[][] tokenPages;
    private final int[] byDigest;
    private final int[] byTokens;
    private final int tableMask;
    private int freeHead = NONE;
    private int used;

    NodeStore(int blockTokens, int capacity, long seed, int hashMask) {
        this.blockTokens = blockTokens;
        this.capacity = capacity;
        this.seed = seed;
        this.hashMask = hashMask;
        digests = new long[4 * capacity];
        values = new long[capacity];
        parents = new int[capacity];
        childCounts = new int[capacity];
        flags = new byte[capacity];
        subRoots = new int[capacity];
        lefts = new int[capacity];
        rights = new int[capacity];
        tokenHashes = new int[capacity];
        tokenPages = new int[(capacity + PAGE_NODES - 1) >>> PAGE_SHIFT][];
        int tableSize = Integer.highestOneBit(Math.max(4, capacity)) * 4;
        byDigest = new int[tableSize];
        byTokens = new int[tableSize];
        tableMask = tableSize - 1;
    }

    /** A larger copy; {@code old} stays as it is for readers that still hold it. */
    NodeStore(NodeStore old, int capacity) {
        this(old.blockTokens, capacity, old.seed, old.hashMask);
        System.arraycopy(old.digests, 0, digests, 0, old.digests.length);
        System.arraycopy(old.values, 0, values, 0, old.capacity);
        System.arraycopy(old.parents, 0, parents, 0, old.capacity);
        System.arraycopy(old.childCounts, 0, childCounts, 0, old.capacity);
        System.arraycopy(old.flags, 0, flags, 0, old.capacity);
        System.arraycopy(old.subRoots, 0, subRoots, 0, old.capacity);
        System.arraycopy(old.lefts, 0, lefts, 0, old.capacity);
        System.arraycopy(old.rights, 0, rights, 0, old.capacity);
        System.arraycopy(old.tokenHashes, 0, tokenHashes, 0, old.capacity);
        // Pages are shared: what readers of the old store see of them is rejected by their stamp.
        System.arraycopy(old.tokenPages, 0, tokenPages, 0, old.tokenPages.length);
        freeHead = old.freeHead;
        used = old.used;
        for (int node = 0; node < used; node++) {
            if ((flags[node] & USED) != 0) {
                enter(byDigest, digestHome(digests[4 * node]), node);
                if ((flags[node] & LINKED) != 0) {
                    enter(byTokens, tokenHashes[node] & tableMask, node);
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // look-up

    boolean is(int node, byte flag) {
        return (flags[node] & flag) != 0;
    }

    int findDigest(BlockKey key, boolean compareDigests) {
        int at = digestHome(key.word0());
        int home = at;
        for (int probes = 0; probes <= tableMask; probes++, at = (at + 1) & tableMask) {
            int node = byDigest[at] - 1;
            if (node < 0) {
                return NONE;
            }
            int word = 4 * node;
            boolean same = compareDigests
                    ? digests[word] == key.word0()
                            && digests[word + 1] == key.word1()
                            && digests[word + 2] == key.word2()
                            && digests[word + 3] == key.word3()
                    : digestHome(digests[word]) == home;
            if (same) {
                return node;
            }
        }
        return NONE;
    }

    int findChild(int parent, int[] tokens, int offset, boolean compareTokens) {
        int hash = tokenHash(parent, tokens, offset);
        int at = hash & tableMask;
        for (int probes = 0; probes <= tableMask; probes++, at = (at + 1) & tableMask) {
            int node = byTokens[at] - 1;
            if (node < 0) {
                return NONE;
            }
            if (tokenHashes[node] == hash
                    && (!compareTokens
                            || (parents[node] == parent
                                    && commonTokens(node, tokens, offset, blockTokens) == blockTokens))) {
                return node;
            }
        }
        return NONE;
    }

    /** How many of {@code tokens[offset..offset+count)} the node's tokens begin with. */
    int commonTokens(int node, int[] tokens, int offset, int count) {
        int[] page = tokenPages[node >>> PAGE_SHIFT];
        if (page == null) {
            return 0; // torn read
        }
        int from = (node & (PAGE_NODES - 1)) * blockTokens;
        int mismatch = Arrays.mismatch(page, from, from + count, tokens, offset, offset + count);
        return mismatch < 0 ? count : mismatch;
    }

    int token(int node, int index) {
        int[] page = tokenPages[node >>> PAGE_SHIFT];
        return page == null ? 0 : page[(node & (PAGE_NODES - 1)) * blockTokens + index];
    }

    /** Order of two linked nodes by their tokens. */
    int compareTokens(int node, int other) {
        int[] page = tokenPages[node >>> PAGE_SHIFT];
        int[] otherPage = tokenPages[other >>> PAGE_SHIFT];
        int from = (node & (PAGE_NODES - 1)) * blockTokens;
        int otherFrom = (other & (PAGE_NODES - 1)) * blockTokens;
        return Arrays.compare(page, from, from + blockTokens, otherPage, otherFrom, otherFrom + blockTokens);
    }

    int[] tokens(int node) {
        int from = (node & (PAGE_NODES - 1)) * blockTokens;
        return Arrays.copyOfRange(tokenPages[node >>> PAGE_SHIFT], from, from + blockTokens);
    }

    BlockKey key(int node) {
        int word = 4 * node;
        return new BlockKey(digests[word], digests[word + 1], digests[word + 2], digests[word + 3]);
    }

    // ------------------------------------------------------------------------------------------------------------
    // change

    int usedNodes() {
        return used;
    }

    /** A placeholder for {@code key}, or NONE when the arrays are full. */
    int add(BlockKey key) {
        int node;
        if (freeHead != NONE) {
            node = freeHead;
            freeHead = parents[node];
        } else if (used < capacity) {
            node = used++;
        } else {
            return NONE;
        }
        int word = 4 * node;
        digests[word] = key.word0();
        digests[word + 1] = key.word1();
        digests[word + 2] = key.word2();
        digests[word + 3] = key.word3();
        parents[node] = NONE;
        childCounts[node] = 0;
        subRoots[node] = NONE;
        lefts[node] = NONE;
        rights[node] = NONE;
        flags[node] = USED;
        enter(byDigest, digestHome(key.word0()), node);
        return node;
    }

    void link(int node, int parent, int[] tokens, int offset) {
        int page = node >>> PAGE_SHIFT;
        if (tokenPages[page] == null) {
            tokenPages[page] = new int[PAGE_NODES * blockTokens];
        }
        System.arraycopy(tokens, offset, tokenPages[page], (node & (PAGE_NODES - 1)) * blockTokens, blockTokens);
        parents[node] = parent;
        tokenHashes[node] = tokenHash(parent, tokens, offset);
        flags[node] |= LINKED;
        childCounts[parent]++;
        enter(byTokens, tokenHashes[node] & tableMask, node);
    }

    /** Frees a node without value and children; returns its parent or NONE. */
    int drop(int node) {
        int parent = NONE;
        if (is(node, LINKED)) {
            parent = parents[node];
            childCounts[parent]--;
            leave(byTokens, true, node);
        }
        leave(byDigest, false, node);
        flags[node] = 0;
        parents[node] = freeHead;
        freeHead = node;
        return parent;
    }

    // ------------------------------------------------------------------------------------------------------------
    // tables

    private int digestHome(long word0) {
        return ((int) (word0 ^ (word0 >>> 32)) & hashMask) & tableMask;
    }

    private int tokenHash(int parent, int[] tokens, int offset) {
        long hash = seed ^ (parent * 0x9E3779B97F4A7C15L);
        int end = offset + blockTokens;
        int at = offset;
        for (; at + 1 < end; at += 2) {
            hash = mix(hash ^ ((long) tokens[at] << 32) ^ (tokens[at + 1] & 0xFFFF_FFFFL));
        }
        if (at < end) {
            hash = mix(hash ^ tokens[at]);
        }
        return (int) hash & hashMask;
    }

    private static long mix(long value) {
        long product = value * 0xD6E8FEB86659FD93L;
        return product ^ (product >>> 32);
    }

    private void enter(int[] table, int home, int node) {
        int at = home;
        while (table[at] != 0) {
            at = (at + 1) & tableMask;
        }
        table[at] = node + 1;
    }

    private int home(boolean ofTokens, int node) {
        return ofTokens ? tokenHashes[node] & tableMask : digestHome(digests[4 * node]);
    }

    /** Removes {@code node} and closes the gap, so that no probe ends early and no tombstones pile up. */
    private void leave(int[] table, boolean ofTokens, int node) {
        int gap = home(ofTokens, node);
        while (table[gap] != node + 1) {
            gap = (gap + 1) & tableMask;
        }
        int at = gap;
        while (true) {
            at = (at + 1) & tableMask;
            int moved = table[at] - 1;
            if (moved < 0) {
                break;
            }
            int home = home(ofTokens, moved);
            // Whoever probes from home passes the gap before reaching at: it may move back.
            if (((at - home) & tableMask) >= ((at - gap) & tableMask)) {
                table[gap] = moved + 1;
                gap = at;
            }
        }
        table[gap] = 0;
    }
}
