// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a {@link PrefixTree} below one root must do, by plain maps and search by hand. */
final class TreeOracle {
    /** A block by all tokens up to its end. */
    record Block(List<Integer> prompt, long id) {
        int[] tokens() {
            return prompt.stream().mapToInt(Integer::intValue).toArray();
        }
    }

    /** What a look-up finds; any block of {@code partial} may be the one that is matched in part. */
    record Found(List<Long> ids, int partialTokens, List<Long> partial) {}

    private final int blockTokens;
    private final Map<List<Integer>, Block> blocks = new HashMap<>();

    TreeOracle(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    static List<Integer> prefix(int[] tokens, int count) {
        List<Integer> list = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            list.add(tokens[i]);
        }
        return list;
    }

    int size() {
        return blocks.size();
    }

    List<Block> all() {
        return new ArrayList<>(blocks.values());
    }

    /** Blocks that were there. */
    int insert(int[] tokens, long[] ids) {
        int existing = 0;
        for (int i = 0; i < ids.length; i++) {
            List<Integer> prompt = prefix(tokens, (i + 1) * blockTokens);
            if (blocks.putIfAbsent(prompt, new Block(prompt, ids[i])) != null) {
                existing++;
            }
        }
        return existing;
    }

    boolean isLeaf(Block block) {
        return blocks.values().stream()
                .noneMatch(other -> other.prompt.size() > block.prompt.size()
                        && other.prompt.subList(0, block.prompt.size()).equals(block.prompt));
    }

    void remove(Block block) {
        blocks.remove(block.prompt);
    }

    Found find(int[] tokens) {
        List<Long> ids = new ArrayList<>();
        int at = 0;
        while (at + blockTokens <= tokens.length) {
            Block block = blocks.get(prefix(tokens, at + blockTokens));
            if (block == null) {
                break;
            }
            ids.add(block.id);
            at += blockTokens;
        }
        int best = 0;
        List<Long> partial = new ArrayList<>();
        List<Integer> before = prefix(tokens, at);
        for (Block block : blocks.values()) {
            if (block.prompt.size() == at + blockTokens
                    && block.prompt.subList(0, at).equals(before)) {
                int[] own = block.tokens();
                int mismatch = Arrays.mismatch(own, at, own.length, tokens, at, Math.min(tokens.length, own.length));
                int common = mismatch < 0 ? tokens.length - at : mismatch;
                if (common > best) {
                    best = common;
                    partial.clear();
                }
                if (common == best && common > 0) {
                    partial.add(block.id);
                }
            }
        }
        return new Found(ids, best, partial);
    }
}
