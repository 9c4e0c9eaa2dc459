// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a {@link PrefixTree}: records in pages of primitive arrays, lists of siblings, and one hash table from parent and first token
 * to the child. A record that readers look at is ten ints:
 *
 * <pre>
 *   0 version       even: valid; odd: being changed, or free
 *   1 slot          block of the token store where the node's tokens begin
 *   2 length        tokens, 0 for a root
 *   3 child         one of the children, or NONE
 *   4 child token   the first token of that one
 *   5 other child   the other one of two children, NONE, or MANY: look into the hash table
 *   6 tick          time of the last use of all blocks that end in the node
 *   7 parent        node; ROOT for a root, FREE for one in the free list
 *   8 first token
 *   9 chain         next node of the same bucket, or of the free list
 * </pre>
 *
 * <p>So most steps down need no hash: of one or two children the parent's record knows which. Four ints more are the writer's: first child,
 * next and previous sibling, and the depth in tokens at which the node begins.
 *
 * <p><b>Writer.</b> One thread at a time, under the tree's lock. {@link #change} makes a record's version odd and remembers it;
 * {@link #publish} makes all of them even again. What makes a node valid is its own record and the set of its children, so linking and
 * unlinking a child changes the parent.
 *
 * <p><b>Readers.</b> Take the version, read, and ask {@link #valid} afterwards. A bucket has a version as well (in stripes), which moves
 * when a node leaves it: a search that finds nothing counts only when it stood still. A node that joins a bucket needs none, for its parent
 * changes.
 */
final class TreeNodes {
    static final int NONE = -1;
    static final int ROOT = -2;
    static final int FREE = -3;

    /** A search in a bucket met a change; it has to be made again. */
    static final int DISTURBED = -4;

    private static final int PAGE_SHIFT = 12;
    static final int MANY = -5;

    static final int VERSION = 0;
    static final int SLOT = 1;
    static final int LENGTH = 2;
    static final int CHILD = 3;
    static final int CHILD_TOKEN = 4;
    static final int OTHER_CHILD = 5;
    static final int TICK = 6;
    static final int PARENT = 7;
    static final int FIRST_TOKEN = 8;
    static final int CHAIN = 9;

    private static final int PAGE_MASK = (1 << PAGE_SHIFT) - 1;
    private static final int INTS = 10;
    private static final int FIRST_CHILD = 0;
    private static final int NEXT = 1;
    private static final int PREVIOUS = 2;
    private static final int DEPTH = 3;
    private static final int WRITER_INTS = 4;
    private static final int STRIPES = 1024;
    private static final int HOPS = 64;
    private static final VarHandle INT = MethodHandles.arrayElementVarHandle(int[].class);

    private final int maxNodes;
    private final long seed;
    private final int hashMask;
    private final boolean validate;
    private final int bucketMask;
    private final int[] buckets;
    private final int[] stripes = new int[STRIPES];
    private final int[] @Nullable [] pages;
    private final int[] @Nullable [] writerPages;
    private int[] changed = new int[16];
    private int changedCount;
    private int freeHead = NONE;
    private int used;
    private int count;

    /**
     * @param maxNodes most nodes at a time
     * @param usualNodes how many there are in most trees: more get longer buckets
     * @param hashMask bits of the hash that are used: all, but in tests of collisions
     * @param validate whether versions count: always, but in a test that shows what they prevent
     */
    TreeNodes(int maxNodes, int usualNodes, long seed, int hashMask, boolean validate) {
        this.maxNodes = maxNodes;
        this.seed = seed;
        this.hashMask = hashMask;
        this.validate = validate;
        int size = bucketCount(usualNodes);
        bucketMask = size - 1;
        buckets = new int[size];
        Arrays.fill(buckets, NONE);
        pages = new int[(maxNodes + PAGE_MASK) >>> PAGE_SHIFT][];
        writerPages = new int[pages.length][];
    }

    // ------------------------------------------------------------------------------------------------------------
    // for readers

    /** The page that holds the record of {@code node}; null when the reader's view is torn. */
    int @Nullable [] page(int node) {
        return pages[node >>> PAGE_SHIFT];
    }

    /** Where in its page the record of {@code node} begins. */
    static int base(int node) {
        return (node & PAGE_MASK) * INTS;
    }

    /** The version before anything else is read. */
    static int version(int[] page, int base) {
        return (int) INT.getAcquire(page, base);
    }

    /** Whether everything read since {@code version} was taken belonged to it. */
    boolean valid(int[] page, int base, int version) {
        // No read of before may slip behind the second look at the version.
        VarHandle.acquireFence();
        return !validate || (int) INT.getOpaque(page, base) == version;
    }

    /** Notes a use of all blocks of {@code node}. */
    void touch(int node, int tick) {
        int[] page = page(node);
        if (page != null) {
            page[base(node) + TICK] = tick;
        }
    }

    /** When all blocks of {@code node} were last used together. */
    int tick(int node) {
        int[] page = page(node);
        return page == null ? Integer.MIN_VALUE : page[base(node) + TICK];
    }

    /** The child of {@code parent} that begins with {@code token}, NONE, or DISTURBED. For readers and the writer. */
    int findChild(int parent, int token) {
        int bucket = hash(parent, token) & bucketMask;
        int stripe = bucket & (STRIPES - 1);
        int before = (int) INT.getAcquire(stripes, stripe);
        if ((before & 1) != 0) {
            return DISTURBED;
        }
        int node = buckets[bucket];
        for (int hops = 1; node >= 0; hops++) {
            int[] page = page(node);
            if (page == null) {
                return DISTURBED;
            }
            int base = base(node);
            if (page[base + FIRST_TOKEN] == token && page[base + PARENT] == parent) {
                return node;
            }
            node = page[base + CHAIN];
            if (hops % HOPS == 0 && !stood(stripe, before)) {
                return DISTURBED; // a node that was freed under us leads along the free list
            }
        }
        return stood(stripe, before) ? NONE : DISTURBED;
    }

    private boolean stood(int stripe, int before) {
        VarHandle.acquireFence();
        return (int) INT.getOpaque(stripes, stripe) == before;
    }

    private int hash(int parent, int token) {
        long mixed = (seed ^ ((long) parent << 32 | (token & 0xFFFF_FFFFL))) * 0xD6E8FEB86659FD93L;
        mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8FEB86659FD93L;
        return (int) (mixed >>> 32) & hashMask;
    }

    // ------------------------------------------------------------------------------------------------------------
    // for the writer

    private int[] pageOf(int node) {
        int[] page = pages[node >>> PAGE_SHIFT];
        if (page == null) {
            throw new IllegalStateException("node " + node + ": never made");
        }
        return page;
    }

    int get(int node, int field) {
        return pageOf(node)[base(node) + field];
    }

    void set(int node, int field, int value) {
        pageOf(node)[base(node) + field] = value;
    }

    int parent(int node) {
        return get(node, PARENT);
    }

    int slot(int node) {
        return get(node, SLOT);
    }

    int length(int node) {
        return get(node, LENGTH);
    }

    int firstChild(int node) {
        return writerGet(node, FIRST_CHILD);
    }

    int next(int node) {
        return writerGet(node, NEXT);
    }

    /** Whether exactly one child hangs below {@code node}. */
    boolean hasOneChild(int node) {
        int first = firstChild(node);
        return first != NONE && next(first) == NONE;
    }

    int depth(int node) {
        return writerGet(node, DEPTH);
    }

    void depth(int node, int tokens) {
        writerSet(node, DEPTH, tokens);
    }

    private int writerGet(int node, int field) {
        int[] page = writerPages[node >>> PAGE_SHIFT];
        return page == null ? NONE : page[(node & PAGE_MASK) * WRITER_INTS + field];
    }

    private void writerSet(int node, int field, int value) {
        int[] page = writerPages[node >>> PAGE_SHIFT];
        if (page != null) {
            page[(node & PAGE_MASK) * WRITER_INTS + field] = value;
        }
    }

    /** Nodes that can still be made. */
    int room() {
        return maxNodes - count;
    }

    int count() {
        return count;
    }

    /** Every node is below it. */
    int used() {
        return used;
    }

    /** The most that {@link #bytes} becomes. */
    static long maxBytes(int maxNodes, int usualNodes) {
        long pages = (maxNodes + PAGE_MASK) >>> PAGE_SHIFT;
        return 4L * (bucketCount(usualNodes) + STRIPES) + 4L * (INTS + WRITER_INTS) * maxNodes + 16L * pages;
    }

    private static int bucketCount(int usualNodes) {
        return Integer.highestOneBit(Math.max(2, usualNodes - 1)) * 2;
    }

    long bytes() {
        long bytes = 4L * (buckets.length + stripes.length);
        for (int[] page : pages) {
            bytes += page == null ? 0 : 4L * page.length;
        }
        for (int[] page : writerPages) {
            bytes += page == null ? 0 : 4L * page.length;
        }
        return bytes + 8L * (pages.length + writerPages.length);
    }

    /** A node without children, invalid until the next {@link #publish}. There must be {@link #room}. */
    int add(int parent, int slot, int length, int firstToken, int depth) {
        int node = freeHead;
        if (node != NONE) {
            freeHead = get(node, CHAIN);
        } else {
            node = used;
            int page = node >>> PAGE_SHIFT;
            if (pages[page] == null) {
                int nodes = Math.min(PAGE_MASK + 1, maxNodes - (page << PAGE_SHIFT));
                writerPages[page] = new int[nodes * WRITER_INTS];
                pages[page] = new int[nodes * INTS];
            }
            used++;
            set(node, VERSION, 1);
        }
        count++;
        remember(node);
        set(node, PARENT, parent);
        set(node, SLOT, slot);
        set(node, LENGTH, length);
        set(node, CHILD, NONE);
        set(node, OTHER_CHILD, NONE);
        set(node, TICK, Integer.MIN_VALUE);
        set(node, FIRST_TOKEN, firstToken);
        writerSet(node, FIRST_CHILD, NONE);
        writerSet(node, NEXT, NONE);
        depth(node, depth);
        return node;
    }

    /** Frees a node that hangs nowhere. Its version stays odd until it is used again. */
    void free(int node) {
        change(node);
        set(node, PARENT, FREE);
        set(node, CHAIN, freeHead);
        freeHead = node;
        count--;
    }

    /** Readers of {@code node} start again until {@link #publish}. */
    void change(int node) {
        int version = get(node, VERSION);
        if ((version & 1) == 0) {
            INT.setOpaque(pageOf(node), base(node), version + 1);
            // No store of the change may come before the odd version.
            VarHandle.storeStoreFence();
            remember(node);
        }
    }

    private void remember(int node) {
        if (changedCount == changed.length) {
            changed = Arrays.copyOf(changed, 2 * changedCount);
        }
        changed[changedCount++] = node;
    }

    /** Everything changed since the last call is valid. */
    void publish() {
        for (int i = 0; i < changedCount; i++) {
            int node = changed[i];
            int version = get(node, VERSION);
            if ((version & 1) != 0 && get(node, PARENT) != FREE) {
                INT.setRelease(pageOf(node), base(node), version + 1);
            }
        }
        changedCount = 0;
    }

    /** Hangs {@code child} below its parent. */
    void link(int child) {
        int parent = parent(child);
        change(parent);
        int first = firstChild(parent);
        writerSet(child, NEXT, first);
        writerSet(child, PREVIOUS, NONE);
        if (first != NONE) {
            writerSet(first, PREVIOUS, child);
        }
        writerSet(parent, FIRST_CHILD, child);
        showChildren(parent);
        enter(child);
    }

    /** Takes {@code child} from its parent. */
    void unlink(int child) {
        int parent = parent(child);
        change(parent);
        leave(child);
        int previous = writerGet(child, PREVIOUS);
        int next = next(child);
        if (previous == NONE) {
            writerSet(parent, FIRST_CHILD, next);
        } else {
            writerSet(previous, NEXT, next);
        }
        if (next != NONE) {
            writerSet(next, PREVIOUS, previous);
        }
        showChildren(parent);
    }

    /** What readers see of the list of children. */
    private void showChildren(int parent) {
        int first = firstChild(parent);
        int second = first == NONE ? NONE : next(first);
        set(parent, CHILD, first);
        set(parent, CHILD_TOKEN, first == NONE ? NONE : get(first, FIRST_TOKEN));
        set(parent, OTHER_CHILD, second == NONE || next(second) == NONE ? second : MANY);
    }

    /** Into the bucket of its parent and first token. */
    private void enter(int node) {
        int bucket = hash(parent(node), get(node, FIRST_TOKEN)) & bucketMask;
        set(node, CHAIN, buckets[bucket]);
        // A reader that meets the node in the bucket must not see what its record held before.
        INT.setRelease(buckets, bucket, node);
    }

    private void leave(int node) {
        int bucket = hash(parent(node), get(node, FIRST_TOKEN)) & bucketMask;
        int stripe = bucket & (STRIPES - 1);
        INT.setOpaque(stripes, stripe, stripes[stripe] + 1);
        VarHandle.storeStoreFence();
        int at = buckets[bucket];
        if (at == node) {
            buckets[bucket] = get(node, CHAIN);
        } else {
            while (get(at, CHAIN) != node) {
                at = get(at, CHAIN);
            }
            set(at, CHAIN, get(node, CHAIN));
        }
        INT.setRelease(stripes, stripe, stripes[stripe] + 1);
    }
}
