// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.index.PrefixMatch;
import io.mooncake.memory.index.PrefixTree;

/** The product's tree; safe for all threads, each with a view of its own. */
final class TreeContender implements Contender {
    static final String NAME = "prefix tree";

    final PrefixTree tree;
    final PrefixTree.Root root;
    final PrefixMatch match;
    private int tick;

    TreeContender(int blocks, boolean withKeys) {
        tree = withKeys
                ? PrefixTree.withKeys(Workload.BLOCK_TOKENS, Workload.VOCABULARY, blocks)
                : PrefixTree.create(Workload.BLOCK_TOKENS, Workload.VOCABULARY, blocks);
        root = tree.root(new BlockKey(1, 2, 3, 4));
        match = new PrefixMatch(withKeys);
    }

    /** Another thread's view of the same tree. */
    TreeContender(TreeContender other) {
        tree = other.tree;
        root = other.root;
        match = new PrefixMatch();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void insert(int[] tokens, long[] ids) {
        tree.insert(root, tokens, ids, ++tick);
    }

    @Override
    public int match(int[] tokens) {
        return tree.longestPrefixMatch(root, tokens, ++tick, match);
    }

    @Override
    public long memoryBytes() {
        return tree.memoryBytes();
    }

    @Override
    public boolean toTheToken() {
        return true;
    }
}
