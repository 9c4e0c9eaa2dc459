// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static io.mooncake.memory.index.TreeNodes.LENGTH;
import static io.mooncake.memory.index.TreeNodes.NONE;
import static io.mooncake.memory.index.TreeNodes.ROOT;

import io.mooncake.memory.BlockKey;
import org.jspecify.annotations.Nullable;

/** Adds single blocks to a {@link PrefixTree} behind others, without a walk from the root; under the tree's lock, as {@link TreeEditor}. */
final class TreeAppender {
    /** The block is there already: its slot is {@code THERE - slot}. */
    static final int THERE = -2;

    private final TreeNodes nodes;
    private final TreeBlocks blocks;
    private final TreeEditor editor;

    TreeAppender(TreeNodes nodes, TreeBlocks blocks, TreeEditor editor) {
        this.nodes = nodes;
        this.blocks = blocks;
        this.editor = editor;
    }

    /**
     * A block to be added.
     *
     * @param root key of its root, where parentSlot is NONE
     * @param parentSlot slot of the block before, or NONE
     * @param from index of its first token
     * @param ids its id, alone
     */
    private record Block(@Nullable BlockKey root, int parentSlot, int[] tokens, int from, long[] ids, int tick) {}

    /**
     * Hangs one block behind another, or behind a root.
     *
     * @param root where {@code parentSlot} is NONE
     * @return its slot; {@code THERE - slot} when its tokens are there already; NONE when the tree is full
     */
    int append(PrefixTree.@Nullable Root root, int parentSlot, int[] tokens, int from, long id, int tick) {
        Block block = new Block(root == null ? null : root.key, parentSlot, tokens, from, new long[] {id}, tick);
        int blockTokens = blocks.blockTokens;
        int end = from + blockTokens;
        int node = root == null ? blocks.node(parentSlot) : root.node;
        if (root == null && parentSlot != editor.lastSlot(node)) {
            int next = parentSlot + 1; // of the same run
            int common = blocks.common(next, 0, tokens, from, end);
            int before = (next - nodes.slot(node)) * blockTokens - editor.offset(node);
            return common == blockTokens ? THERE - next : fork(block, node, before + common, common);
        }
        int at = from;
        while (at < end) {
            int child = nodes.findChild(node, tokens[at]);
            if (child == NONE) {
                break;
            }
            int count = Math.min(nodes.length(child), end - at);
            int offset = editor.offset(child);
            int common = blocks.common(nodes.slot(child), offset, tokens, at, at + count);
            at += common;
            if (common < count) {
                return fork(block, child, common, at - from);
            }
            if (at == end) {
                return THERE - (nodes.slot(child) + (offset + common) / blockTokens - 1);
            }
            node = child;
        }
        return hang(block, node, at - from);
    }

    /** The block, of which the first {@code common} tokens are there, parts from the tree behind {@code count} tokens of {@code node}. */
    private int fork(Block block, int node, int count, int common) {
        if (blocks.room() == 0 || nodes.room() <= TreeEditor.CUT_NODES) {
            return NONE;
        }
        int above = editor.cut(node, count);
        nodes.publish();
        return hang(block, above, common);
    }

    /** What is behind the first {@code common} tokens of the block follows the end of {@code node}. */
    private int hang(Block block, int node, int common) {
        boolean leafRun = nodes.parent(node) != ROOT && nodes.firstChild(node) == NONE;
        if (leafRun && blocks.extend(editor.lastSlot(node), 1) == 1) {
            int slot = editor.lastSlot(node) + 1;
            fill(block, slot, node);
            nodes.change(node);
            nodes.set(node, LENGTH, nodes.length(node) + blocks.blockTokens);
            nodes.publish();
            return slot;
        }
        int slot = nodes.room() == 0 ? NONE : blocks.allocate(1);
        if (slot != NONE) {
            int begin = nodes.depth(node) + nodes.length(node);
            int first = block.tokens[block.from + common];
            int run = nodes.add(node, slot, blocks.blockTokens - common, first, begin);
            fill(block, slot, run);
            nodes.link(run);
            nodes.publish();
        }
        return slot;
    }

    private void fill(Block block, int slot, int node) {
        editor.fill(block.root, slot, 1, block.tokens, block.from, block.ids, 0, block.tick, node, block.parentSlot);
    }
}
