// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import java.nio.FloatBuffer;

/**
 * Where the weights come from. Names and orientation are those of GGUF files of architecture llama: {@code token_embd.weight}, {@code
 * blk.0.attn_q.weight} and so on, matrices row-major as outputs x inputs, query and key rows in the order for rotation of neighbouring
 * pairs.
 */
public interface WeightSource {
    /** Whether there is a tensor of that name. */
    boolean contains(String name);

    /**
     * Puts all elements of tensor {@code name} as 32-bit floats into {@code destination}, from its position on.
     *
     * @param shape the shape it must have, rows before columns
     * @throws io.mooncake.base.MooncakeException MODEL_REFUSED when the tensor is missing or has another shape
     */
    void read(String name, FloatBuffer destination, long... shape);
}
