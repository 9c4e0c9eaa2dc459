// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static io.mooncake.memory.index.NodeStore.NONE;

/**
 * The valued children of a node as a treap in the lexicographic order of their tokens. The sibling that shares the longest beginning with a
 * given run of tokens lies on the search path for it, so a partial match costs O(log siblings), also below a prompt that a hundred thousand
 * conversations share.
 */
final class SiblingTree {
    /** Far beyond the depth of any treap that fits in memory; ends a descent over links torn by a concurrent writer. */
    private static final int MAX_DEPTH = 512;

    private SiblingTree() {}

    /** The child of {@code parent} that shares most of {@code tokens[offset..offset+count)}, or NONE when none shares a token. */
    static int longest(NodeStore nodes, int parent, int[] tokens, int offset, int count) {
        int best = NONE;
        int bestCommon = 0;
        int at = nodes.subRoots[parent];
        for (int depth = 0; at != NONE && depth < MAX_DEPTH; depth++) {
            int common = nodes.commonTokens(at, tokens, offset, count);
            if (common > bestCommon) {
                best = at;
                bestCommon = common;
            }
            if (common == count) {
                break;
            }
            at = tokens[offset + common] < nodes.token(at, common) ? nodes.lefts[at] : nodes.rights[at];
        }
        return best;
    }

    static void insert(NodeStore nodes, int parent, int node) {
        int above = NONE;
        int at = nodes.subRoots[parent];
        long priority = priority(nodes, node);
        while (at != NONE && priority(nodes, at) >= priority) {
            above = at;
            at = nodes.compareTokens(node, at) < 0 ? nodes.lefts[at] : nodes.rights[at];
        }
        split(nodes, at, node);
        replace(nodes, parent, above, node, node);
    }

    static void remove(NodeStore nodes, int parent, int node) {
        int above = NONE;
        int at = nodes.subRoots[parent];
        while (at != node) {
            above = at;
            at = nodes.compareTokens(node, at) < 0 ? nodes.lefts[at] : nodes.rights[at];
        }
        replace(nodes, parent, above, node, merge(nodes, nodes.lefts[node], nodes.rights[node]));
        nodes.lefts[node] = NONE;
        nodes.rights[node] = NONE;
    }

    /** Cuts the tree {@code at} into the smaller and larger ones than {@code node} and hangs them below it. */
    private static void split(NodeStore nodes, int at, int node) {
        int smallerEnd = NONE;
        int largerEnd = NONE;
        nodes.lefts[node] = NONE;
        nodes.rights[node] = NONE;
        while (at != NONE) {
            if (nodes.compareTokens(at, node) < 0) {
                if (smallerEnd == NONE) {
                    nodes.lefts[node] = at;
                } else {
                    nodes.rights[smallerEnd] = at;
                }
                smallerEnd = at;
                at = nodes.rights[at];
            } else {
                if (largerEnd == NONE) {
                    nodes.rights[node] = at;
                } else {
                    nodes.lefts[largerEnd] = at;
                }
                largerEnd = at;
                at = nodes.lefts[at];
            }
        }
        if (smallerEnd != NONE) {
            nodes.rights[smallerEnd] = NONE;
        }
        if (largerEnd != NONE) {
            nodes.lefts[largerEnd] = NONE;
        }
    }

    private static int merge(NodeStore nodes, int smaller, int larger) {
        int root = NONE;
        int above = NONE;
        boolean toRight = false;
        while (smaller != NONE || larger != NONE) {
            boolean takeSmaller =
                    larger == NONE || (smaller != NONE && priority(nodes, smaller) >= priority(nodes, larger));
            int next = takeSmaller ? smaller : larger;
            if (above == NONE) {
                root = next;
            } else if (toRight) {
                nodes.rights[above] = next;
            } else {
                nodes.lefts[above] = next;
            }
            above = next;
            toRight = takeSmaller;
            if (takeSmaller) {
                smaller = nodes.rights[next];
            } else {
                larger = nodes.lefts[next];
            }
        }
        return root;
    }

    /** Puts {@code by} where the search for {@code node} leaves {@code above}. */
    private static void replace(NodeStore nodes, int parent, int above, int node, int by) {
        if (above == NONE) {
            nodes.subRoots[parent] = by;
        } else if (nodes.compareTokens(node, above) < 0) {
            nodes.lefts[above] = by;
        } else {
            nodes.rights[above] = by;
        }
    }

    private static long priority(NodeStore nodes, int node) {
        long mixed = (nodes.seed ^ node) * 0xBF58476D1CE4E5B9L;
        return (mixed ^ (mixed >>> 29)) * 0x94D049BB133111EBL;
    }
}
