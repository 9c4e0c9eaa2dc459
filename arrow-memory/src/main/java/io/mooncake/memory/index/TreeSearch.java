// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static io.mooncake.memory.index.TreeNodes.CHILD;
import static io.mooncake.memory.index.TreeNodes.CHILD_TOKEN;
import static io.mooncake.memory.index.TreeNodes.DISTURBED;
import static io.mooncake.memory.index.TreeNodes.LENGTH;
import static io.mooncake.memory.index.TreeNodes.MANY;
import static io.mooncake.memory.index.TreeNodes.NONE;
import static io.mooncake.memory.index.TreeNodes.OTHER_CHILD;
import static io.mooncake.memory.index.TreeNodes.PARENT;
import static io.mooncake.memory.index.TreeNodes.SLOT;

import java.util.Arrays;

/**
 * The walk of a reader: from the root down, hand over hand. The parent's version is looked at once more after the child's was taken, so at that
 * moment the child hung below it, and with it, as nothing goes but from the leaves, the whole way to the root stood. What the walk returns
 * was true at the last such moment. A version that moved ends the walk; the caller starts it again.
 */
final class TreeSearch {
    private static final int STEP_TRIES = 16;
    private static final long[] NO_KEYS = {};

    private TreeSearch() {}

    /** Of {@code tokens[0..limit)}. False: disturbed, and {@code out} means nothing. */
    static boolean match(
            TreeNodes nodes,
            TreeBlocks blocks,
            PrefixTree.Root root,
            int[] tokens,
            int limit,
            boolean compare,
            PrefixMatch out) {
        out.clear();
        int node = root.node;
        int[] page = nodes.page(node);
        if (page == null) {
            return false;
        }
        int base = TreeNodes.base(node);
        int version = TreeNodes.version(page, base);
        // Open after the version was taken: the version belongs to this root, not to another use of its node.
        if ((version & 1) != 0 || !root.open) {
            return !root.open;
        }
        int blockTokens = blocks.blockTokens;
        int slot = 0;
        int length = 0;
        int offset = 0;
        int at = 0;
        while (true) {
            // The child is looked for before the node's own tokens are compared: both are far away, and come at the
            // same time.
            int child = at + length < limit ? child(nodes, node, page, base, tokens[at + length]) : NONE;
            int[] childPage = child < 0 ? page : nodes.page(child);
            if (child == DISTURBED || childPage == null) {
                return false;
            }
            int childBase = child < 0 ? base : TreeNodes.base(child);
            int childVersion = TreeNodes.version(childPage, childBase);
            if (length > 0) {
                int count = Math.min(length, limit - at);
                int common = compare ? common(blocks, slot, offset, tokens, at, count) : count;
                int whole = (offset + common) / blockTokens;
                offset += common - whole * blockTokens;
                if (!take(blocks, slot, whole, offset, common == length ? node : NONE, out)) {
                    return false;
                }
                at += common;
                length -= common;
            }
            // The child's version was taken before: at this moment it hung here.
            if (!nodes.valid(page, base, version)) {
                return false;
            }
            if (length > 0 || child == NONE) {
                return true;
            }
            slot = childPage[childBase + SLOT];
            length = childPage[childBase + LENGTH];
            if ((childVersion & 1) != 0
                    || childPage[childBase + PARENT] != node
                    || !nodes.valid(childPage, childBase, childVersion)) {
                return false;
            }
            node = child;
            page = childPage;
            base = childBase;
            version = childVersion;
        }
    }

    /** The child that begins with {@code token}, NONE, or DISTURBED; of what may be torn, one that may be another. */
    private static int child(TreeNodes nodes, int node, int[] page, int base, int token) {
        if (page[base + CHILD_TOKEN] == token) {
            return page[base + CHILD];
        }
        int other = page[base + OTHER_CHILD];
        if (other != MANY) {
            return other;
        }
        int found = DISTURBED;
        for (int i = 0; i < STEP_TRIES && found == DISTURBED; i++) {
            found = nodes.findChild(node, token);
        }
        return found;
    }

    private static int common(TreeBlocks blocks, int slot, int offset, int[] tokens, int at, int count) {
        int[] page = blocks.tokens[slot >>> blocks.pageShift];
        if (page == null) {
            return 0;
        }
        int from = (slot & blocks.pageMask) * blocks.blockTokens + offset;
        int mismatch = Arrays.mismatch(page, from, from + count, tokens, at, at + count);
        return mismatch < 0 ? count : mismatch;
    }

    private static boolean take(TreeBlocks blocks, int slot, int whole, int rest, int node, PrefixMatch out) {
        int page = slot >>> blocks.pageShift;
        int from = slot & blocks.pageMask;
        long[] ids = blocks.ids[page];
        long[] keys = out.withKeys() ? blocks.keys[page] : NO_KEYS;
        if (ids == null || keys == null) {
            return false;
        }
        if (whole > 0) {
            out.add(slot, whole, node, ids, keys, from);
        }
        out.partial(rest, slot + whole, rest > 0 ? ids[from + whole] : 0);
        return true;
    }
}
