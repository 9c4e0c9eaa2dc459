// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.mooncake.base.MooncakeException;

/**
 * What a causal language model in DJL is fed: ids [1, T], positions [1, T], attention mask [1, P + T], then the past, 2 x layers arrays
 * [1, heads, P, elements]. One sequence a call, no padding, positions that follow the past.
 *
 * @param tokens the ids
 * @param past the past arrays, empty on the first call; borrowed
 */
public record CausalInputs(int[] tokens, NDList past) {
    private static final int FIXED_INPUTS = 3;

    /**
     * Reads and checks an input list.
     *
     * @throws MooncakeException INVALID_ARGUMENT naming what does not fit
     */
    public static CausalInputs parse(NDList input) {
        if (input.isEmpty()) {
            throw MooncakeException.invalid("inputs", 0, "ids, positions, attention mask, past");
        }
        Shape shape = input.get(0).getShape();
        if (shape.dimension() != 2 || shape.get(0) != 1) {
            throw MooncakeException.invalid("ids", shape, "[1, tokens]: one sequence a call");
        }
        if (shape.get(1) < 1) {
            throw MooncakeException.invalid("ids", shape, "one token or more");
        }
        NDList past = new NDList();
        if (input.size() > FIXED_INPUTS) {
            past.addAll(input.subNDList(FIXED_INPUTS));
        }
        int before = past.isEmpty() ? 0 : pastTokens(past);
        int[] tokens = toTokens(input.get(0));
        if (input.size() > 1) {
            requirePositions(input.get(1), before, tokens.length);
        }
        if (input.size() > 2) {
            requireNoPadding(input.get(2), before + tokens.length);
        }
        return new CausalInputs(tokens, past);
    }

    /** Tokens held by {@code past}. */
    static int pastTokens(NDList past) {
        Shape shape = past.get(0).getShape();
        if (past.size() % 2 != 0 || shape.dimension() != 4 || shape.get(0) != 1) {
            throw MooncakeException.invalid(
                    "past", past.size() + " arrays of " + shape, "2 x layers arrays [1, heads, tokens, elements]");
        }
        return Math.toIntExact(shape.get(2));
    }

    /** Inputs for {@code tokens[from..to)} behind {@code past}, made by {@code manager}. */
    static NDList of(NDManager manager, int[] tokens, int from, int to, NDList past) {
        long[] ids = new long[to - from];
        long[] positions = new long[to - from];
        for (int i = from; i < to; i++) {
            ids[i - from] = tokens[i];
            positions[i - from] = i;
        }
        NDList input = new NDList(
                manager.create(ids, new Shape(1, ids.length)),
                manager.create(positions, new Shape(1, ids.length)),
                manager.ones(new Shape(1, to), DataType.INT64));
        input.addAll(past);
        return input;
    }

    private static int[] toTokens(NDArray ids) {
        if (ids.getDataType() == DataType.INT32) {
            return ids.toIntArray();
        }
        if (ids.getDataType() != DataType.INT64) {
            throw MooncakeException.invalid("ids element type", ids.getDataType(), "INT64 or INT32");
        }
        long[] wide = ids.toLongArray();
        int[] tokens = new int[wide.length];
        for (int i = 0; i < wide.length; i++) {
            if (wide[i] < 0 || wide[i] > Integer.MAX_VALUE) {
                throw MooncakeException.invalid("token at position " + i, wide[i], "0.." + Integer.MAX_VALUE);
            }
            tokens[i] = (int) wide[i];
        }
        return tokens;
    }

    private static void requirePositions(NDArray positions, int first, int count) {
        long[] found = positions.getDataType() == DataType.INT64 ? positions.toLongArray() : new long[0];
        boolean fits = found.length == count;
        for (int i = 0; fits && i < count; i++) {
            fits = found[i] == first + i;
        }
        if (!fits) {
            String shown =
                    found.length == 0 ? positions.getShape().toString() : found[0] + ".." + found[found.length - 1];
            throw MooncakeException.invalid(
                    "positions", shown, first + ".." + (first + count - 1) + ": absolute, behind the past");
        }
    }

    private static void requireNoPadding(NDArray mask, int tokens) {
        if (mask.size() != tokens) {
            throw MooncakeException.invalid("attention mask", mask.getShape(), "[1, " + tokens + "]");
        }
        try (NDArray sum = mask.sum()) {
            long ones = sum.getDataType() == DataType.INT64
                    ? sum.getLong()
                    : Math.round(sum.toType(DataType.FLOAT64, true).getDouble());
            if (ones != tokens) {
                throw MooncakeException.invalid(
                        "attention mask", ones + " of " + tokens + " tokens", "all ones: padding shifts positions");
            }
        }
    }
}
