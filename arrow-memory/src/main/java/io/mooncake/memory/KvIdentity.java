// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;

/**
 * Everything besides tokens and tenant that decides what the bytes of a KV block mean. Two blocks may be exchanged only when all of it is
 * equal; one field that differs names another pool.
 *
 * <p>Digests are lower-case hexadecimal SHA-256 or empty where the thing does not exist.
 *
 * @param modelDigest SHA-256 of the weights, 64 hexadecimal digits
 * @param tokenizerDigest SHA-256 over the vocabulary and merges, 64 hexadecimal digits
 * @param adapterDigest SHA-256 of a LoRA or soft prompt, or empty
 * @param engineLayout program and version that made the numbers, for example {@code djl-pytorch-2.7.1/llama-1}
 * @param rope the position scheme in canonical text, for example {@code rope(base=100000,dims=64,style=halves)}
 * @param mode exact or fast reuse
 * @param dataType element type of keys and values
 * @param layers attention layers, 1..1024
 * @param kvHeads key and value heads a layer on this rank, 1..1024
 * @param headSize elements a head, 1..4096
 * @param blockTokens tokens a block, 1..4096
 * @param tensorParallelSize ranks, 1..1024
 * @param tensorParallelRank this rank, 0..size-1
 */
public record KvIdentity(
        String modelDigest,
        String tokenizerDigest,
        String adapterDigest,
        String engineLayout,
        String rope,
        ReuseMode mode,
        KvDataType dataType,
        int layers,
        int kvHeads,
        int headSize,
        int blockTokens,
        int tensorParallelSize,
        int tensorParallelRank) {

    public KvIdentity {
        requireDigest("modelDigest", modelDigest, false);
        requireDigest("tokenizerDigest", tokenizerDigest, false);
        requireDigest("adapterDigest", adapterDigest, true);
        requireText("engineLayout", engineLayout);
        requireText("rope", rope);
        requireRange("layers", layers, 1, 1024);
        requireRange("kvHeads", kvHeads, 1, 1024);
        requireRange("headSize", headSize, 1, 4096);
        requireRange("blockTokens", blockTokens, 1, 4096);
        requireRange("tensorParallelSize", tensorParallelSize, 1, 1024);
        requireRange("tensorParallelRank", tensorParallelRank, 0, tensorParallelSize - 1);
    }

    private static void requireDigest(String name, String value, boolean mayBeEmpty) {
        if (value.isEmpty() && mayBeEmpty) {
            return;
        }
        if (!value.matches("[0-9a-f]{64}")) {
            throw MooncakeException.invalid(name, value, "64 lower-case hexadecimal digits");
        }
    }

    private static void requireText(String name, String value) {
        if (value.isEmpty() || value.length() > 256) {
            throw MooncakeException.invalid(name, value, "1..256 characters");
        }
    }

    private static void requireRange(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw MooncakeException.invalid(name, value, min + ".." + max);
        }
    }
}
