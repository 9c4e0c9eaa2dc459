// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;

/** Over 100,000 tuples of identity texts, salt and tokens from a tiny alphabet with delimiters and empties; also a program that prints their digest. */
public final class KeyTuples {
    private static final List<String> TEXTS = List.of(
            "a", "b", "aa", "ab", "a,", ",a", "a,a", "a;b", "a\0", "\0", "\0a", "a|b", "a\nb", " a", "a ", "i", "I",
            "\u0130", "\u0131", "\u00e4", "a\u0308");
    private static final List<String> SALTS = List.of("", "a", "\0", "a\0", ",", "a,b");
    private static final List<String> ADAPTERS = List.of("", "00".repeat(32));
    private static final int[][] TOKENS = {
        {},
        {0},
        {1},
        {0, 0},
        {0, 1},
        {1, 0},
        {0, 0, 0},
        {1, 1},
        {256},
        {65536},
        {16777216},
        {0, 256},
        {Integer.MAX_VALUE}
    };

    private KeyTuples() {}

    /** Shows every tuple's key, each once; returns how many. */
    static int forEach(Consumer<BlockKey> consumer) {
        ChainKeys keys = new ChainKeys();
        int count = 0;
        for (String engine : TEXTS) {
            for (String rope : TEXTS) {
                for (String adapter : ADAPTERS) {
                    KvIdentity identity = new KvIdentity(
                            "00".repeat(32),
                            "00".repeat(32),
                            adapter,
                            engine,
                            rope,
                            ReuseMode.EXACT,
                            KvDataType.F32,
                            1,
                            1,
                            1,
                            1,
                            1,
                            0);
                    for (String salt : SALTS) {
                        BlockKey root = ChainKeys.root(identity, salt.getBytes(StandardCharsets.UTF_8));
                        consumer.accept(root);
                        count++;
                        for (int[] tokens : TOKENS) {
                            BlockKey first = keys.next(root, tokens, 0, tokens.length);
                            consumer.accept(first);
                            count++;
                            if (tokens.length > 0) { // the chain: the same tokens cut otherwise
                                consumer.accept(keys.next(keys.next(root, tokens, 0, 1), tokens, 0, tokens.length));
                                count++;
                            }
                        }
                    }
                }
            }
        }
        return count;
    }

    static String digest() throws Exception {
        MessageDigest all = MessageDigest.getInstance("SHA-256");
        forEach(key -> all.update(key.toBytes()));
        return HexFormat.of().formatHex(all.digest());
    }

    public static void main(String[] args) throws Exception {
        System.out.println(digest());
    }
}
