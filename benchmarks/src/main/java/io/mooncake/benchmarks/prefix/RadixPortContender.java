// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The idea of SGLang's radix cache, written anew: a tree of objects, each with the tokens of its edge, a value a token, the time of its last
 * use, and its children in a hash map by first token. An edge is split by copying.
 */
final class RadixPortContender implements Contender {
    private static final class Node {
        final Map<Integer, Node> children = new HashMap<>();
        int[] key;
        int[] value;

        @SuppressWarnings("UnusedVariable") // as in the model: eviction goes by it
        long lastAccess;

        Node(int[] key, int[] value) {
            this.key = key;
            this.value = value;
        }
    }

    private final Node root = new Node(new int[0], new int[0]);
    private int[] found = new int[16];
    private long clock;

    @Override
    public String name() {
        return "radix tree of objects";
    }

    @Override
    public void insert(int[] tokens, long[] ids) {
        int length = ids.length * Workload.BLOCK_TOKENS;
        int[] values = new int[length];
        Arrays.setAll(
                values, i -> (int) ids[i / Workload.BLOCK_TOKENS] * Workload.BLOCK_TOKENS + i % Workload.BLOCK_TOKENS);
        Node node = root;
        int at = 0;
        clock++;
        while (at < length) {
            node.lastAccess = clock;
            Node child = node.children.get(tokens[at]);
            if (child == null) {
                node.children.put(
                        tokens[at],
                        new Node(Arrays.copyOfRange(tokens, at, length), Arrays.copyOfRange(values, at, length)));
                return;
            }
            int common = common(child.key, tokens, at, length);
            at += common;
            node = common < child.key.length ? split(node, child, common) : child;
        }
        node.lastAccess = clock;
    }

    private static Node split(Node parent, Node child, int count) {
        Node upper = new Node(Arrays.copyOf(child.key, count), Arrays.copyOf(child.value, count));
        upper.lastAccess = child.lastAccess;
        child.key = Arrays.copyOfRange(child.key, count, child.key.length);
        child.value = Arrays.copyOfRange(child.value, count, child.value.length);
        upper.children.put(child.key[0], child);
        parent.children.put(upper.key[0], upper);
        return upper;
    }

    @Override
    public int match(int[] tokens) {
        Node node = root;
        int at = 0;
        clock++;
        while (at < tokens.length) {
            node.lastAccess = clock;
            @Nullable Node child = node.children.get(tokens[at]);
            if (child == null) {
                break;
            }
            // The model splits here too, so that what matched has a node of its own; this port only looks.
            int common = common(child.key, tokens, at, tokens.length);
            if (at + common > found.length) {
                found = Arrays.copyOf(found, Math.max(2 * found.length, at + common));
            }
            System.arraycopy(child.value, 0, found, at, common);
            at += common;
            node = child;
            if (common < child.key.length) {
                break;
            }
        }
        node.lastAccess = clock;
        return at;
    }

    private static int common(int[] key, int[] tokens, int at, int length) {
        int count = Math.min(key.length, length - at);
        int mismatch = Arrays.mismatch(key, 0, count, tokens, at, at + count);
        return mismatch < 0 ? count : mismatch;
    }

    @Override
    public long memoryBytes() {
        return -1;
    }

    @Override
    public boolean toTheToken() {
        return true;
    }
}
