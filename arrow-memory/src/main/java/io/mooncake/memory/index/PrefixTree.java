// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.block.ChainKeys;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A compressed radix tree over token ids: which prefix of a prompt is cached, to the token, and in which blocks. An edge is a run of many
 * tokens, compared in one call; prompts that part at any token, also inside of a block, share what is before. Each whole block has an id of
 * the caller's, the time of its last use and, if wanted, its chain key. All in primitive arrays, of any block size.
 *
 * <p><b>Shapes.</b> A prompt is {@code int[]} or {@code long[]}, 1..{@link #MAX_TOKENS} ids of 0..vocabulary-1. Inserted are whole blocks;
 * what is behind the last whole one is not kept. Roots keep tenants and identities apart: a prompt is looked up below one root and never
 * meets what is below another. A <i>position</i> names a block in the tree while it is there; after its removal it may name another one.
 *
 * <p><b>No holes.</b> Blocks go from the leaves only: {@link #remove} refuses a block that another one follows. So whatever is found below a
 * root is a prefix without a gap.
 *
 * <p><b>No collisions.</b> The hash of a node and a token chooses where to look, never what is found: all tokens are compared.
 *
 * <p><b>Threading.</b> Safe for all threads. Changes take a lock. Look-ups take none, write nothing that another thread reads but times of
 * use, and go on while the tree changes. Every node has a version, odd while it changes; a reader takes it, reads, and looks again. It goes
 * down hand over hand: the parent's version is looked at once more after the child's was taken. A node is valid only while it hangs in the
 * tree, and what hangs there has its whole way to the root above it; so a look-up returns what was true at one moment between its
 * call and its return, that of its last look, and inserts of many blocks are seen whole or not at all. Disturbed look-ups start again;
 * after {@value #TRIES} disturbed tries (a writer that was put to sleep in the middle of a change) one takes the lock. Memory that readers may still look at is
 * never given back, only reused, which the version shows. A version is 31 bits of changes of one node, which no look-up outlives.
 *
 * <p><b>Memory.</b> {@code 4 * blockTokens + 16} bytes a block (32 more with keys) and 60 to 64 a node, whatever the prompts are, in pages of
 * 64 Ki tokens and of 4096 nodes that are made on demand; the buckets for all nodes are there from the start. A prompt that branches off
 * makes one to three nodes. There are at most 11 nodes to 16 blocks, so with 16 tokens a block all is less than twice the tokens' own four
 * bytes; a tree that branches more is full when its nodes are.
 *
 * <p>Source: radix trees over tokens as in SGLang (Zheng et al., 2024); optimistic lock coupling (Leis et al., 2016).
 */
public final class PrefixTree {
    /** Longest prompt. */
    public static final int MAX_TOKENS = 1 << 21;

    /** Most tokens a block. */
    public static final int MAX_BLOCK_TOKENS = 4096;

    /** Most tokens that all blocks may hold. */
    public static final long MAX_STORED_TOKENS = 1L << 31;

    /** No position. */
    public static final int NONE = -1;

    private static final int TRIES = 64;
    private static final int SPARE_NODES = 64;

    /**
     * What an insertion found and did.
     *
     * @param existing blocks that were there already; their ids stay
     * @param added blocks that are there now, with the caller's ids; less than the rest when the tree is full
     */
    public record Inserted(int existing, int added) {}

    /**
     * What a removal did.
     *
     * @param removed whether the block went
     * @param exposed position of the block that is a leaf because of it, or {@link #NONE}
     */
    public record Removed(boolean removed, int exposed) {
        private static final Removed REFUSED = new Removed(false, NONE);
    }

    /**
     * What stands between a look-up and foreign blocks. Always all on; tests switch one off to show that it is what holds the line.
     *
     * @param tokens all tokens of an edge are compared, not only its first
     * @param versions what was read counts only if its node's version stood
     */
    record Checks(boolean tokens, boolean versions) {
        static final Checks ALL = new Checks(true, true);
    }

    /** The empty prefix of one tenant and identity. */
    public static final class Root {
        final BlockKey key;
        final int node;
        volatile boolean open = true;

        Root(BlockKey key, int node) {
            this.key = key;
            this.node = node;
        }

        /** The key it was opened with: the parent of every first block. */
        public BlockKey key() {
            return key;
        }
    }

    /** Receives the blocks of {@link #forEach}. */
    @FunctionalInterface
    public interface Visitor {
        /**
         * @param position of the block
         * @param parent position of the block before it, shown already, or {@link #NONE}
         * @param index of the block in its prompt, from 0
         * @param tokens its own ones, a copy
         */
        void visit(Root root, int position, int parent, int index, long id, int[] tokens);
    }

    /** Receives the leaves of {@link #forEachLeaf}. */
    @FunctionalInterface
    public interface LeafVisitor {
        /**
         * @param position of the block
         * @param index of the block in its prompt, from 0
         * @param tick of its last use
         */
        void visit(int position, int index, long id, int tick);
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<BlockKey, Root> roots = new ConcurrentHashMap<>();
    /** Under the lock. */
    private final Map<Integer, Root> rootsByNode = new HashMap<>();

    private final PromptTokens prompts;
    private final TreeBlocks blocks;
    private final TreeNodes nodes;
    private final TreeEditor editor;
    private final TreeAppender appender;
    private final boolean compareTokens;

    /**
     * A tree without keys.
     *
     * @param blockTokens tokens a block, 1..{@link #MAX_BLOCK_TOKENS}
     * @param vocabulary token ids are below it
     * @param maxBlocks most blocks at a time; times {@code blockTokens} at most {@link #MAX_STORED_TOKENS}
     */
    public static PrefixTree create(int blockTokens, int vocabulary, int maxBlocks) {
        return new PrefixTree(blockTokens, vocabulary, maxBlocks, false, -1, Checks.ALL);
    }

    /** A tree without keys that is never full before it has {@code maxBlocks}, however they branch: two nodes a block. */
    public static PrefixTree ofAnyShape(int blockTokens, int vocabulary, int maxBlocks) {
        return new PrefixTree(blockTokens, vocabulary, maxBlocks, anyShapeNodes(maxBlocks), false, -1, Checks.ALL);
    }

    /** Each block has a run, and there are no more twigs and roots than leaves. */
    static int anyShapeNodes(int maxBlocks) {
        return 2 * maxBlocks + SPARE_NODES;
    }

    /** The most bytes that a tree of any shape takes. */
    static long maxMemoryBytes(int blockTokens, int maxBlocks) {
        return TreeBlocks.maxBytes(blockTokens, maxBlocks)
                + TreeNodes.maxBytes(anyShapeNodes(maxBlocks), usualNodes(maxBlocks));
    }

    /** In most trees there are no more. */
    private static int usualNodes(int maxBlocks) {
        return (int) (11L * maxBlocks / 16) + SPARE_NODES;
    }

    /** A tree that keeps the {@link ChainKeys} of its blocks: computed once, when a block is inserted, and read by every match. */
    public static PrefixTree withKeys(int blockTokens, int vocabulary, int maxBlocks) {
        return new PrefixTree(blockTokens, vocabulary, maxBlocks, true, -1, Checks.ALL);
    }

    /**
     * For tests.
     *
     * @param hashMask bits of every hash that are used
     */
    PrefixTree(int blockTokens, int vocabulary, int maxBlocks, boolean withKeys, int hashMask, Checks checks) {
        this(blockTokens, vocabulary, maxBlocks, usualNodes(maxBlocks), withKeys, hashMask, checks);
    }

    /** The same with {@code maxNodes}, roots included. */
    PrefixTree(
            int blockTokens,
            int vocabulary,
            int maxBlocks,
            int maxNodes,
            boolean withKeys,
            int hashMask,
            Checks checks) {
        if (blockTokens < 1 || blockTokens > MAX_BLOCK_TOKENS) {
            throw MooncakeException.invalid("blockTokens", blockTokens, "1.." + MAX_BLOCK_TOKENS);
        }
        if (maxBlocks < 1 || (long) maxBlocks * blockTokens > MAX_STORED_TOKENS || maxBlocks > 1 << 28) {
            throw MooncakeException.invalid(
                    "maxBlocks", maxBlocks, "1.." + Math.min(1 << 28, MAX_STORED_TOKENS / blockTokens));
        }
        this.compareTokens = checks.tokens();
        prompts = new PromptTokens(vocabulary);
        blocks = new TreeBlocks(blockTokens, maxBlocks, withKeys);
        long seed = ThreadLocalRandom.current().nextLong(); // nobody can choose tokens that collide
        nodes = new TreeNodes(maxNodes, usualNodes(maxBlocks), seed, hashMask, checks.versions());
        editor = new TreeEditor(nodes, blocks, withKeys ? new ChainKeys() : null);
        appender = new TreeAppender(nodes, blocks, editor);
    }

    // ------------------------------------------------------------------------------------------------------------
    // roots

    /**
     * The root of {@code key}, made if it is not there.
     *
     * @param key names tenant and identity: {@link ChainKeys#root}
     * @throws MooncakeException EXHAUSTED when no node is free
     */
    public Root root(BlockKey key) {
        Root known = roots.get(key);
        if (known != null) {
            return known;
        }
        lock.lock();
        try {
            Root root = roots.get(key);
            if (root == null) {
                if (nodes.room() == 0) {
                    throw new MooncakeException(Code.EXHAUSTED, "roots: no node is free (expected: at least one)");
                }
                root = new Root(key, nodes.add(TreeNodes.ROOT, 0, 0, TreeNodes.NONE, 0));
                nodes.publish();
                roots.put(key, root);
                rootsByNode.put(root.node, root);
            }
            return root;
        } finally {
            lock.unlock();
        }
    }

    /** The root of {@code key}, or null when it is not there. No lock. */
    public @Nullable Root findRoot(BlockKey key) {
        return roots.get(key);
    }

    /** Gives the node of {@code root} back if nothing is below it; whether it did. Look-ups below it find nothing from then on. */
    public boolean drop(Root root) {
        lock.lock();
        try {
            if (!root.open || nodes.firstChild(root.node) != NONE) {
                return false;
            }
            root.open = false;
            roots.remove(root.key, root);
            rootsByNode.remove(root.node);
            nodes.free(root.node);
            nodes.publish();
            return true;
        } finally {
            lock.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // look-up

    /**
     * The longest prefix of {@code tokens} that is in the tree, to the token: whole blocks, and at most one in part.
     *
     * @param tick the time, in the caller's units, that is noted as the last use of the blocks found; never smaller than the one before
     * @param out overwritten
     * @return tokens matched
     * @throws MooncakeException INVALID_ARGUMENT naming position and value of the first id out of the vocabulary; nothing is noted
     */
    public int longestPrefixMatch(Root root, int @Nullable [] tokens, int tick, PrefixMatch out) {
        int[] prompt = PromptTokens.requireLength(tokens);
        if (out.withKeys() && blocks.keys.length == 0) {
            throw MooncakeException.invalid("match", "one with keys", "a tree that keeps them");
        }
        find(root, prompt, prompt.length, out);
        int matched = out.blocks() * blocks.blockTokens + out.partialTokens();
        // What was matched equals tokens that were checked when they came.
        prompts.requireValid(prompt, matched);
        out.touch(blocks, nodes, tick);
        return matched;
    }

    /** The same for {@code long} ids. */
    public int longestPrefixMatch(Root root, long @Nullable [] tokens, int tick, PrefixMatch out) {
        long[] prompt = PromptTokens.requireLength(tokens);
        int[] ids = new int[prompt.length];
        prompts.convert(prompt, ids);
        return longestPrefixMatch(root, ids, tick, out);
    }

    /**
     * The same of {@code prompt[0..limit)}, for a caller that has checked its tokens and notes uses elsewhere: writes nothing.
     *
     * @param limit 0..prompt.length
     */
    public void find(Root root, int[] prompt, int limit, PrefixMatch out) {
        Objects.checkFromToIndex(0, limit, prompt.length);
        for (int i = 0; i < TRIES; i++) {
            if (TreeSearch.match(nodes, blocks, root, prompt, limit, compareTokens, out)) {
                return;
            }
            Thread.onSpinWait();
        }
        lock.lock();
        try {
            if (!TreeSearch.match(nodes, blocks, root, prompt, limit, compareTokens, out)) {
                throw new MooncakeException(Code.INTERNAL, "prefix tree: changes under its lock");
            }
        } finally {
            lock.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // change

    /**
     * Adds the blocks of a prompt that are not there yet, all at once for readers.
     *
     * @param tokens at least {@code ids.length * blockTokens} of them; copied
     * @param ids of its blocks, in order; those of blocks that are there already are not taken
     * @param tick noted as the last use of all blocks of the prompt
     * @throws MooncakeException INVALID_ARGUMENT naming position and value, with the tree unchanged; ILLEGAL_STATE below a dropped root
     */
    public Inserted insert(Root root, int @Nullable [] tokens, long[] ids, int tick) {
        int[] prompt = prompts.requireValid(tokens);
        if (ids.length == 0 || (long) ids.length * blocks.blockTokens > prompt.length) {
            throw MooncakeException.invalid(
                    "ids.length",
                    ids.length,
                    "1.." + prompt.length / blocks.blockTokens + ", the whole blocks of the prompt");
        }
        lock.lock();
        try {
            requireOpen(root);
            return editor.insert(root, prompt, ids, tick);
        } finally {
            lock.unlock();
        }
    }

    /** The same for {@code long} ids of tokens. */
    public Inserted insert(Root root, long @Nullable [] tokens, long[] ids, int tick) {
        long[] prompt = PromptTokens.requireLength(tokens);
        int[] narrow = new int[prompt.length];
        prompts.convert(prompt, narrow);
        return insert(root, narrow, ids, tick);
    }

    /**
     * What an append did.
     *
     * @param position of the block, which may have been there already; {@link #NONE} when the tree is full
     * @param added whether it is there because of this call
     */
    public record Appended(int position, boolean added) {
        private static final Appended FULL = new Appended(NONE, false);
    }

    /**
     * Adds one block as the first of {@code root}, for a caller that has checked its tokens.
     *
     * @param tokens of which {@code tokens[from..from+blockTokens)} are the block's; copied
     * @param tick noted as its last use
     * @throws MooncakeException ILLEGAL_STATE below a dropped root
     */
    public Appended append(Root root, int[] tokens, int from, long id, int tick) {
        Objects.checkFromIndexSize(from, blocks.blockTokens, tokens.length);
        lock.lock();
        try {
            requireOpen(root);
            return appended(appender.append(root, NONE, tokens, from, id, tick));
        } finally {
            lock.unlock();
        }
    }

    /**
     * The same behind the block at {@code parent}, without a walk from the root.
     *
     * @throws MooncakeException ILLEGAL_STATE when there is no block
     */
    public Appended append(int parent, int[] tokens, int from, long id, int tick) {
        Objects.checkFromIndexSize(from, blocks.blockTokens, tokens.length);
        lock.lock();
        try {
            requireUsed(parent);
            return appended(appender.append(null, parent, tokens, from, id, tick));
        } finally {
            lock.unlock();
        }
    }

    private static Appended appended(int slot) {
        return slot == NONE
                ? Appended.FULL
                : slot >= 0 ? new Appended(slot, true) : new Appended(TreeAppender.THERE - slot, false);
    }

    private void requireUsed(int position) {
        if (!blocks.isUsed(position)) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "position " + position + ": free (expected: a block's)");
        }
    }

    private static void requireOpen(Root root) {
        if (!root.open) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "root " + root.key + ": dropped (expected: open)");
        }
    }

    /** Removes the block at {@code position} if it is still {@code id} and no block follows it. */
    public Removed remove(int position, long id) {
        lock.lock();
        try {
            if (!blocks.isUsed(position) || blocks.id(position) != id || !editor.isLeaf(position)) {
                return Removed.REFUSED;
            }
            return new Removed(true, editor.remove(position));
        } finally {
            lock.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // look around

    /** Whether block {@code id} is at {@code position} and no block follows it. */
    public boolean isLeaf(int position, long id) {
        lock.lock();
        try {
            return blocks.isUsed(position) && blocks.id(position) == id && editor.isLeaf(position);
        } finally {
            lock.unlock();
        }
    }

    /** Position of the block before the one at {@code position}, or {@link #NONE} when that is the first below its root. */
    public int parent(int position) {
        lock.lock();
        try {
            requireUsed(position);
            return editor.parent(position);
        } finally {
            lock.unlock();
        }
    }

    /** The root that the block at {@code position} is below. */
    public Root rootOf(int position) {
        lock.lock();
        try {
            requireUsed(position);
            return Objects.requireNonNull(rootsByNode.get(editor.rootNode(position)));
        } finally {
            lock.unlock();
        }
    }

    /** Shows the positions of all blocks that follow the one at {@code position}, each behind its parent. The visitor must not change the tree. */
    public void forEachBehind(int position, IntConsumer visitor) {
        lock.lock();
        try {
            requireUsed(position);
            editor.forEachBehind(position, visitor);
        } finally {
            lock.unlock();
        }
    }

    /** Whether the block at {@code position} is {@code tokens[from..from+blockTokens)}. */
    public boolean hasTokens(int position, int[] tokens, int from) {
        Objects.checkFromIndexSize(from, blocks.blockTokens, tokens.length);
        lock.lock();
        try {
            requireUsed(position);
            int end = from + blocks.blockTokens;
            return blocks.common(position, 0, tokens, from, end) == blocks.blockTokens;
        } finally {
            lock.unlock();
        }
    }

    /** The id of the block at {@code position}. */
    public long id(int position) {
        lock.lock();
        try {
            requireUsed(position);
            return blocks.id(position);
        } finally {
            lock.unlock();
        }
    }

    /** When the block at {@code position} was last found or inserted; 0 or a former block's when there is none. No lock. */
    public int lastUse(int position) {
        return editor.lastUse(Objects.checkIndex(position, blocks.maxBlocks));
    }

    /** Shows every block, each after its parent, under the lock of changes: look-ups go on. The visitor must not change the tree. */
    public void forEach(Visitor visitor) {
        lock.lock();
        try {
            roots.values().forEach(root -> editor.forEach(root, visitor));
        } finally {
            lock.unlock();
        }
    }

    /** Shows every block that none follows, in no particular order, under the lock of changes. The visitor must not change the tree. */
    public void forEachLeaf(LeafVisitor visitor) {
        lock.lock();
        try {
            editor.forEachLeaf(visitor);
        } finally {
            lock.unlock();
        }
    }

    /** Tokens a block. */
    public int blockTokens() {
        return blocks.blockTokens;
    }

    /** Blocks in the tree. */
    public int size() {
        lock.lock();
        try {
            return blocks.count();
        } finally {
            lock.unlock();
        }
    }

    /** Nodes of the tree, roots included. */
    public int nodeCount() {
        lock.lock();
        try {
            return nodes.count();
        } finally {
            lock.unlock();
        }
    }

    /** Bytes of all arrays. */
    public long memoryBytes() {
        lock.lock();
        try {
            return blocks.bytes() + nodes.bytes();
        } finally {
            lock.unlock();
        }
    }
}
