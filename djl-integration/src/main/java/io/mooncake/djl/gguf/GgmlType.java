// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import org.jspecify.annotations.Nullable;

/**
 * Storage types of tensors that this reader knows. A row is a whole number of blocks of {@link #blockElements()} elements, each
 * stored in {@link #blockBytes()} bytes.
 *
 * <p>Source: {@code ggml_type} in ggml.h and the block structs in ggml-common.h.
 */
public enum GgmlType {
    F32(0, 1, 4),
    F16(1, 1, 2),
    Q4_0(2, 32, 18),
    Q4_1(3, 32, 20),
    Q5_0(6, 32, 22),
    Q5_1(7, 32, 24),
    Q8_0(8, 32, 34),
    Q4_K(12, 256, 144),
    Q5_K(13, 256, 176),
    Q6_K(14, 256, 210),
    BF16(30, 1, 2);

    private final int id;
    private final int blockElements;
    private final int blockBytes;

    GgmlType(int id, int blockElements, int blockBytes) {
        this.id = id;
        this.blockElements = blockElements;
        this.blockBytes = blockBytes;
    }

    /** The number that stands for this type in the file. */
    public int id() {
        return id;
    }

    /** Elements that share one block. */
    public int blockElements() {
        return blockElements;
    }

    /** Bytes of one block. */
    public int blockBytes() {
        return blockBytes;
    }

    /** Bytes of {@code elements} elements; {@code elements} must be a multiple of {@link #blockElements()}. */
    public long bytes(long elements) {
        return Math.multiplyExact(elements / blockElements, blockBytes);
    }

    /** The type of that number, or null where it is not one of ours. */
    static @Nullable GgmlType find(int id) {
        for (GgmlType type : values()) {
            if (type.id == id) {
                return type;
            }
        }
        return null;
    }

    /** The name ggml gives to a type we do not read, for error messages. */
    static String nameOf(int id) {
        String[] names = {
            "F32",
            "F16",
            "Q4_0",
            "Q4_1",
            "Q4_2",
            "Q4_3",
            "Q5_0",
            "Q5_1",
            "Q8_0",
            "Q8_1",
            "Q2_K",
            "Q3_K",
            "Q4_K",
            "Q5_K",
            "Q6_K",
            "Q8_K",
            "IQ2_XXS",
            "IQ2_XS",
            "IQ3_XXS",
            "IQ1_S",
            "IQ4_NL",
            "IQ3_S",
            "IQ2_S",
            "IQ4_XS",
            "I8",
            "I16",
            "I32",
            "I64",
            "F64",
            "IQ1_M",
            "BF16",
            "Q4_0_4_4",
            "Q4_0_4_8",
            "Q4_0_8_8",
            "TQ1_0",
            "TQ2_0"
        };
        return id >= 0 && id < names.length ? names[id] + " (type " + id + ")" : "type " + Integer.toUnsignedString(id);
    }
}
