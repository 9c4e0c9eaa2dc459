// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static io.mooncake.memory.index.TreeNodes.FIRST_TOKEN;
import static io.mooncake.memory.index.TreeNodes.LENGTH;
import static io.mooncake.memory.index.TreeNodes.NONE;
import static io.mooncake.memory.index.TreeNodes.PARENT;
import static io.mooncake.memory.index.TreeNodes.ROOT;
import static io.mooncake.memory.index.TreeNodes.SLOT;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.block.ChainKeys;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The changes of a {@link PrefixTree}; one thread at a time, under the tree's lock. There are two kinds of nodes besides roots:
 *
 * <ul>
 *   <li>a <i>run</i> ends where a block ends. It begins there too, or inside of a block when it hangs below a twig. Its slots are neighbours.
 *   <li>a <i>twig</i> lies inside of one block and ends there, because prompts part at that token; it has two children at least. It owns
 *       no slot: its tokens are read from the slot of a descendant, which holds its whole block.
 * </ul>
 *
 * <p>So every slot belongs to the one run that holds its last token, tokens never move, and taking a node apart or together changes records
 * only.
 */
final class TreeEditor {
    /** Nodes that one branching needs beside the runs of its new blocks: a cut at the block, and a twig. */
    static final int CUT_NODES = 2;

    private final TreeNodes nodes;
    private final TreeBlocks blocks;
    private final int blockTokens;
    private final @Nullable ChainKeys chainKeys;

    TreeEditor(TreeNodes nodes, TreeBlocks blocks, @Nullable ChainKeys chainKeys) {
        this.nodes = nodes;
        this.blocks = blocks;
        this.chainKeys = chainKeys;
        blockTokens = blocks.blockTokens;
    }

    int offset(int node) {
        return nodes.depth(node) % blockTokens;
    }

    private boolean isTwig(int node) {
        return (nodes.depth(node) + nodes.length(node)) % blockTokens != 0;
    }

    private int blockCount(int run) {
        return (offset(run) + nodes.length(run)) / blockTokens;
    }

    int lastSlot(int run) {
        return nodes.slot(run) + blockCount(run) - 1;
    }

    // ------------------------------------------------------------------------------------------------------------
    // insert

    PrefixTree.Inserted insert(PrefixTree.Root root, int[] tokens, long[] ids, int tick) {
        int limit = ids.length * blockTokens;
        int node = root.node;
        int at = 0;
        while (at < limit) {
            int child = nodes.findChild(node, tokens[at]);
            if (child == NONE) {
                break;
            }
            int count = Math.min(nodes.length(child), limit - at);
            int common = blocks.common(nodes.slot(child), at % blockTokens, tokens, at, at + count);
            if (common < count) {
                return branch(root, child, common, at + common, tokens, ids, tick);
            }
            if (common == nodes.length(child)) {
                nodes.touch(child, tick);
            } else {
                touchFirst(child, at + common, tick);
            }
            at += common;
            node = child;
        }
        int existing = at / blockTokens;
        return new PrefixTree.Inserted(existing, grow(root, node, at, tokens, ids, tick));
    }

    /** Prompt and tree part behind {@code common} tokens of {@code child}, at token {@code at}. */
    private PrefixTree.Inserted branch(
            PrefixTree.Root root, int child, int common, int at, int[] tokens, long[] ids, int tick) {
        int existing = at / blockTokens;
        touchFirst(child, at, tick);
        if (blocks.room() == 0 || nodes.room() <= CUT_NODES) {
            return new PrefixTree.Inserted(existing, 0);
        }
        int above = cut(child, common);
        nodes.publish();
        return new PrefixTree.Inserted(existing, grow(root, above, at, tokens, ids, tick));
    }

    /** Notes a use of the blocks of {@code node} that end at token {@code end} of the prompt or before. */
    private void touchFirst(int node, int end, int tick) {
        blocks.touch(nodes.slot(node), end / blockTokens - nodes.depth(node) / blockTokens, tick);
    }

    /** Cuts {@code node} behind its first {@code count} tokens, which makes one node more, or two; returns the one that ends there. */
    int cut(int node, int count) {
        int begin = nodes.depth(node);
        int atBlock = (begin + count) / blockTokens * blockTokens - begin;
        int above = NONE;
        if (atBlock > 0) {
            above = cutHere(node, atBlock);
        }
        int rest = count - Math.max(0, atBlock);
        return rest > 0 ? cutHere(node, rest) : above;
    }

    /** The first {@code count} tokens of {@code node}, up to a block's end or inside of its first block, become a node above it. */
    private int cutHere(int node, int count) {
        int slot = nodes.slot(node);
        int begin = nodes.depth(node);
        int whole = (offset(node) + count) / blockTokens;
        int upper = nodes.add(nodes.parent(node), slot, count, nodes.get(node, FIRST_TOKEN), begin);
        nodes.touch(upper, nodes.tick(node));
        nodes.unlink(node);
        nodes.change(node);
        nodes.link(upper);
        nodes.set(node, PARENT, upper);
        nodes.set(node, SLOT, slot + whole);
        nodes.set(node, LENGTH, nodes.length(node) - count);
        nodes.set(node, FIRST_TOKEN, blocks.token(slot + whole, (begin + count) % blockTokens));
        nodes.depth(node, begin + count);
        nodes.link(node);
        if (whole > 0) {
            blocks.node(slot, whole, upper);
        }
        return upper;
    }

    /** Hangs the blocks of the prompt from token {@code at} on below {@code node}, all at once for readers; how many there was room for. */
    private int grow(PrefixTree.Root root, int node, int at, int[] tokens, long[] ids, int tick) {
        int first = at / blockTokens;
        int block = first;
        int lengthened = 0;
        boolean leafRun = nodes.parent(node) != ROOT && nodes.firstChild(node) == NONE;
        if (leafRun && block < ids.length) {
            int slot = lastSlot(node) + 1;
            lengthened = blocks.extend(slot - 1, ids.length - block);
            fill(root.key, slot, lengthened, tokens, block * blockTokens, ids, block, tick, node, parentSlot(node));
            block += lengthened;
        }
        int top = NONE;
        int parent = node;
        int parentSlot = lengthened > 0 ? lastSlot(node) + lengthened : parentSlot(node);
        while (block < ids.length && nodes.room() > 0) {
            int slot = blocks.allocate(ids.length - block);
            if (slot == TreeBlocks.NONE) {
                break;
            }
            int count = blocks.allocated();
            int begin = Math.max(at, block * blockTokens);
            int run = nodes.add(parent, slot, (block + count) * blockTokens - begin, tokens[begin], begin);
            fill(root.key, slot, count, tokens, block * blockTokens, ids, block, tick, run, parentSlot);
            if (top == NONE) {
                top = run;
            } else {
                nodes.link(run);
            }
            parent = run;
            parentSlot = slot + count - 1;
            block += count;
        }
        if (lengthened > 0) {
            nodes.change(node);
            nodes.set(node, LENGTH, nodes.length(node) + lengthened * blockTokens);
        }
        if (top != NONE) {
            nodes.link(top);
        }
        nodes.publish();
        return block - first;
    }

    /** The slot of the last block that is whole at the end of {@code node}, NONE at a root. */
    private int parentSlot(int node) {
        int at = node;
        while (nodes.parent(at) != ROOT && isTwig(at)) {
            at = nodes.parent(at);
        }
        return nodes.parent(at) == ROOT ? NONE : lastSlot(at);
    }

    /**
     * Puts {@code count} blocks into neighbouring slots.
     *
     * @param root key of their root
     * @param from index of their first token
     * @param firstId index of their first id
     * @param parentSlot of the block before the first, or NONE
     */
    void fill(
            @Nullable BlockKey root,
            int slot,
            int count,
            int[] tokens,
            int from,
            long[] ids,
            int firstId,
            int tick,
            int node,
            int parentSlot) {
        if (count == 0) {
            return;
        }
        int page = slot >>> blocks.pageShift;
        int at = slot & blocks.pageMask;
        System.arraycopy(tokens, from, TreeBlocks.require(blocks.tokens[page]), at * blockTokens, count * blockTokens);
        System.arraycopy(ids, firstId, TreeBlocks.require(blocks.ids[page]), at, count);
        blocks.touch(slot, count, tick);
        blocks.node(slot, count, node);
        if (chainKeys != null) {
            BlockKey key = parentSlot == NONE ? TreeBlocks.require(root) : blocks.key(parentSlot);
            BlockKey[] chain = chainKeys.chain(key, tokens, from, blockTokens, count);
            for (int i = 0; i < count; i++) {
                blocks.key(slot + i, chain[i]);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------------
    // remove

    boolean isLeaf(int slot) {
        int node = blocks.node(slot);
        return slot == lastSlot(node) && nodes.firstChild(node) == NONE;
    }

    /** Takes the leaf in {@code slot} away; the slot of the block that is a leaf because of it, or NONE. */
    int remove(int slot) {
        int node = blocks.node(slot);
        int exposed;
        if (blockCount(node) > 1) {
            nodes.change(node);
            nodes.set(node, LENGTH, nodes.length(node) - blockTokens);
            exposed = slot - 1;
        } else {
            int parent = nodes.parent(node);
            nodes.unlink(node);
            nodes.free(node);
            exposed = closeUp(parent, slot);
        }
        nodes.publish();
        blocks.free(slot);
        return exposed;
    }

    /** {@code parent} has lost the child that owned {@code slot}. */
    private int closeUp(int parent, int slot) {
        if (nodes.parent(parent) == ROOT) {
            return NONE;
        }
        if (!isTwig(parent)) {
            if (nodes.firstChild(parent) == NONE) {
                return lastSlot(parent);
            }
            if (nodes.hasOneChild(parent)) {
                joinRuns(parent);
            }
            return NONE;
        }
        int at = parent;
        if (nodes.hasOneChild(parent)) {
            at = nodes.parent(parent);
            joinTwig(parent);
        }
        for (; nodes.parent(at) != ROOT && isTwig(at); at = nodes.parent(at)) {
            if (nodes.slot(at) == slot) {
                nodes.change(at);
                nodes.set(at, SLOT, nodes.slot(nodes.firstChild(at)));
            }
        }
        if (nodes.parent(at) != ROOT && nodes.hasOneChild(at)) {
            joinRuns(at);
        }
        return NONE;
    }

    /** The only child of {@code twig} takes its tokens over: they are in its slot already. */
    private void joinTwig(int twig) {
        int child = nodes.firstChild(twig);
        takeOver(twig, child, nodes.slot(child));
    }

    /** A run and its only child become one node again where their slots are neighbours. */
    private void joinRuns(int run) {
        int child = nodes.firstChild(run);
        int slot = nodes.slot(run);
        int end = slot + blockCount(run);
        if (isTwig(child) || nodes.slot(child) != end || (end & blocks.pageMask) == 0) {
            return;
        }
        blocks.node(slot, end - slot, child);
        keepTicks(run, child);
        takeOver(run, child, slot);
    }

    /** One node has one time: the later of two is noted at the blocks it is of. */
    private void keepTicks(int run, int child) {
        int tick = nodes.tick(run);
        int childTick = nodes.tick(child);
        if (tick > childTick) {
            blocks.raise(nodes.slot(run), blockCount(run), tick);
        } else if (childTick > tick) {
            blocks.raise(nodes.slot(child), blockCount(child), childTick);
            nodes.touch(child, tick);
        }
    }

    /** When the block in {@code slot} was last used. For readers too. */
    int lastUse(int slot) {
        return Math.max(blocks.tick(slot), nodes.tick(blocks.node(slot)));
    }

    /** {@code child} begins where {@code node} began, which is freed. */
    private void takeOver(int node, int child, int slot) {
        nodes.unlink(child);
        nodes.unlink(node);
        nodes.change(child);
        nodes.set(child, PARENT, nodes.parent(node));
        nodes.set(child, SLOT, slot);
        nodes.set(child, LENGTH, nodes.length(node) + nodes.length(child));
        nodes.set(child, FIRST_TOKEN, nodes.get(node, FIRST_TOKEN));
        nodes.depth(child, nodes.depth(node));
        nodes.free(node);
        nodes.link(child);
    }

    // ------------------------------------------------------------------------------------------------------------
    // iterate

    /** Every block below {@code root}, each behind its parent. */
    void forEach(PrefixTree.Root root, PrefixTree.Visitor visitor) {
        int at = root.node;
        while (at != NONE) {
            if (nodes.parent(at) != ROOT && !isTwig(at)) {
                visit(root, at, visitor);
            }
            int next = nodes.firstChild(at);
            while (next == NONE && at != root.node) {
                next = nodes.next(at);
                at = nodes.parent(at);
            }
            at = next;
        }
    }

    private void visit(PrefixTree.Root root, int run, PrefixTree.Visitor visitor) {
        int parent = parentSlot(nodes.parent(run));
        int index = nodes.depth(run) / blockTokens;
        int count = blockCount(run);
        for (int i = 0; i < count; i++) {
            int slot = nodes.slot(run) + i;
            visitor.visit(root, slot, parent, index + i, blocks.id(slot), blocks.tokens(slot));
            parent = slot;
        }
    }

    /** The last block of every node without children. */
    void forEachLeaf(PrefixTree.LeafVisitor visitor) {
        for (int node = 0; node < nodes.used(); node++) {
            if (nodes.parent(node) >= 0 && nodes.firstChild(node) == NONE) {
                int slot = lastSlot(node);
                int index = (nodes.depth(node) + nodes.length(node)) / blockTokens - 1;
                visitor.visit(slot, index, blocks.id(slot), lastUse(slot));
            }
        }
    }

    /** Every block that follows the one in {@code slot}, directly or behind others, each behind its parent. */
    void forEachBehind(int slot, IntConsumer visitor) {
        int top = blocks.node(slot);
        for (int behind = slot + 1; behind <= lastSlot(top); behind++) {
            visitor.accept(behind);
        }
        int at = nodes.firstChild(top);
        while (at != NONE) {
            if (!isTwig(at)) {
                int end = lastSlot(at);
                for (int behind = nodes.slot(at); behind <= end; behind++) {
                    visitor.accept(behind);
                }
            }
            int next = nodes.firstChild(at);
            while (next == NONE && at != top) {
                next = nodes.next(at);
                at = nodes.parent(at);
            }
            at = next;
        }
    }

    /** The slot of the block before the one in {@code slot}, or NONE. */
    int parent(int slot) {
        int node = blocks.node(slot);
        return slot > nodes.slot(node) ? slot - 1 : parentSlot(nodes.parent(node));
    }

    /** The node of the root that the block in {@code slot} is below. */
    int rootNode(int slot) {
        int node = blocks.node(slot);
        while (nodes.parent(node) != ROOT) {
            node = nodes.parent(node);
        }
        return node;
    }

    /** Index of the block in {@code slot} in its prompt. */
    int blockIndex(int slot) {
        int node = blocks.node(slot);
        return nodes.depth(node) / blockTokens + slot - nodes.slot(node);
    }
}
