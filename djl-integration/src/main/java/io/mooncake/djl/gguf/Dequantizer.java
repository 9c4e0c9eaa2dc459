// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * Turns stored blocks into F32. Blocks are copied to the heap in steps that fit the second-level cache, since plain loops over
 * arrays are what the JIT compiler vectorises.
 *
 * <p>Stateless. Source: the {@code dequantize_row_*} functions of ggml-quants.c; arithmetic is in F32 in the same order.
 */
final class Dequantizer {
    private static final int STEP_ELEMENTS = 16 * 1024;
    /** All halves as floats: a load is cheaper than the case split over subnormals. */
    private static final float[] HALF = halfTable();

    private Dequantizer() {}

    /** Reads {@code count} elements from the position of {@code source} (little-endian) and puts them to {@code target}. */
    static void run(GgmlType type, ByteBuffer source, int count, FloatBuffer target) {
        if (type == GgmlType.F32) {
            FloatBuffer floats = source.asFloatBuffer();
            target.put(floats.limit(count));
            return;
        }
        byte[] in = new byte[Math.toIntExact(type.bytes(Math.min(count, STEP_ELEMENTS)))];
        float[] out = new float[Math.min(count, STEP_ELEMENTS)];
        for (int done = 0; done < count; ) {
            int step = Math.min(STEP_ELEMENTS, count - done);
            source.get(in, 0, Math.toIntExact(type.bytes(step)));
            step(type, in, step, out);
            target.put(out, 0, step);
            done += step;
        }
    }

    private static void step(GgmlType type, byte[] in, int count, float[] out) {
        switch (type) {
            case F32 -> throw new AssertionError("copied above");
            case F16 -> f16(in, count, out);
            case BF16 -> bf16(in, count, out);
            case Q4_0 -> q4x0(in, count, out);
            case Q4_1 -> q4x1(in, count, out);
            case Q5_0 -> q5x0(in, count, out);
            case Q5_1 -> q5x1(in, count, out);
            case Q8_0 -> q8x0(in, count, out);
            case Q4_K -> KQuants.q4k(in, count, out);
            case Q5_K -> KQuants.q5k(in, count, out);
            case Q6_K -> KQuants.q6k(in, count, out);
        }
    }

    private static void f16(byte[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = HALF[(in[2 * i] & 0xff) | (in[2 * i + 1] & 0xff) << 8];
        }
    }

    private static void bf16(byte[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = Float.intBitsToFloat((in[2 * i] & 0xff) << 16 | in[2 * i + 1] << 24);
        }
    }

    /** d:f16, then 16 bytes with elements 0..15 in the low and 16..31 in the high nibbles. */
    private static void q4x0(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 32, at += 18) {
            float d = half(in, at);
            for (int j = 0; j < 16; j++) {
                int q = in[at + 2 + j];
                out[to + j] = ((q & 0xf) - 8) * d;
                out[to + 16 + j] = ((q >> 4 & 0xf) - 8) * d;
            }
        }
    }

    /** d:f16, m:f16, then nibbles as in Q4_0. */
    private static void q4x1(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 32, at += 20) {
            float d = half(in, at);
            float m = half(in, at + 2);
            for (int j = 0; j < 16; j++) {
                int q = in[at + 4 + j];
                out[to + j] = (q & 0xf) * d + m;
                out[to + 16 + j] = (q >> 4 & 0xf) * d + m;
            }
        }
    }

    /** d:f16, the fifth bits as u32, then nibbles as in Q4_0. */
    private static void q5x0(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 32, at += 22) {
            float d = half(in, at);
            int high = int32(in, at + 2);
            for (int j = 0; j < 16; j++) {
                int q = in[at + 6 + j];
                out[to + j] = ((q & 0xf | (high >> j & 1) << 4) - 16) * d;
                out[to + 16 + j] = ((q >> 4 & 0xf | (high >> j + 16 & 1) << 4) - 16) * d;
            }
        }
    }

    /** d:f16, m:f16, the fifth bits as u32, then nibbles as in Q4_0. */
    private static void q5x1(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 32, at += 24) {
            float d = half(in, at);
            float m = half(in, at + 2);
            int high = int32(in, at + 4);
            for (int j = 0; j < 16; j++) {
                int q = in[at + 8 + j];
                out[to + j] = (q & 0xf | (high >> j & 1) << 4) * d + m;
                out[to + 16 + j] = (q >> 4 & 0xf | (high >> j + 16 & 1) << 4) * d + m;
            }
        }
    }

    /** d:f16, then 32 signed bytes. */
    private static void q8x0(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 32, at += 34) {
            float d = half(in, at);
            for (int j = 0; j < 32; j++) {
                out[to + j] = in[at + 2 + j] * d;
            }
        }
    }

    static float half(byte[] in, int at) {
        return HALF[(in[at] & 0xff) | (in[at + 1] & 0xff) << 8];
    }

    private static int int32(byte[] in, int at) {
        return (in[at] & 0xff) | (in[at + 1] & 0xff) << 8 | (in[at + 2] & 0xff) << 16 | in[at + 3] << 24;
    }

    private static float[] halfTable() {
        float[] table = new float[1 << 16];
        for (int bits = 0; bits < table.length; bits++) {
            int exponent = bits >> 10 & 0x1f;
            int mantissa = bits & 0x3ff;
            float magnitude =
                    switch (exponent) {
                        case 0 -> mantissa * 0x1p-24f;
                        case 31 -> Float.intBitsToFloat(0x7f800000 | mantissa << 13);
                        default -> Float.intBitsToFloat(exponent + 112 << 23 | mantissa << 13);
                    };
            table[bits] = (bits & 0x8000) == 0 ? magnitude : -magnitude;
        }
        return table;
    }
}
