// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

/**
 * The k-quants: superblocks of 256 elements with scales of scales.
 *
 * <p>Stateless. Source: block_q4_K, block_q5_K, block_q6_K and get_scale_min_k4 of ggml.
 */
final class KQuants {
    private KQuants() {}

    /** d:f16, dmin:f16, 8 scales and 8 minima of 6 bits in 12 bytes, 128 bytes of nibbles. */
    static void q4k(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 256, at += 144) {
            float d = Dequantizer.half(in, at);
            float min = Dequantizer.half(in, at + 2);
            for (int group = 0; group < 8; group++) {
                float d1 = d * scale(in, at + 4, group);
                float m1 = min * minimum(in, at + 4, group);
                int from = at + 16 + (group >> 1) * 32;
                int shift = (group & 1) * 4;
                for (int j = 0; j < 32; j++) {
                    out[to + group * 32 + j] = d1 * (in[from + j] >> shift & 0xf) - m1;
                }
            }
        }
    }

    /** As Q4_K, with 32 bytes of fifth bits before the nibbles: bit g of byte j belongs to element j of group g. */
    static void q5k(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 256, at += 176) {
            float d = Dequantizer.half(in, at);
            float min = Dequantizer.half(in, at + 2);
            for (int group = 0; group < 8; group++) {
                float d1 = d * scale(in, at + 4, group);
                float m1 = min * minimum(in, at + 4, group);
                int from = at + 48 + (group >> 1) * 32;
                int shift = (group & 1) * 4;
                for (int j = 0; j < 32; j++) {
                    int high = in[at + 16 + j] >> group & 1;
                    out[to + group * 32 + j] = d1 * (in[from + j] >> shift & 0xf | high << 4) - m1;
                }
            }
        }
    }

    /** 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, d:f16. */
    static void q6k(byte[] in, int count, float[] out) {
        for (int to = 0, at = 0; to < count; to += 256, at += 210) {
            float d = Dequantizer.half(in, at + 208);
            for (int half = 0; half < 2; half++) {
                for (int quarter = 0; quarter < 4; quarter++) {
                    int low = at + half * 64 + (quarter & 1) * 32;
                    int lowShift = (quarter >> 1) * 4;
                    int high = at + 128 + half * 32;
                    int highShift = quarter * 2;
                    int first = half * 128 + quarter * 32;
                    for (int j = 0; j < 32; j++) {
                        int q = (in[low + j] >> lowShift & 0xf | (in[high + j] >> highShift & 3) << 4) - 32;
                        out[to + first + j] = d * in[at + 192 + (first + j) / 16] * q;
                    }
                }
            }
        }
    }

    private static int scale(byte[] in, int at, int group) {
        return group < 4 ? in[at + group] & 63 : in[at + group + 4] & 0xf | (in[at + group - 4] >> 6 & 3) << 4;
    }

    private static int minimum(byte[] in, int at, int group) {
        return group < 4 ? in[at + group + 4] & 63 : in[at + group + 4] >> 4 & 0xf | (in[at + group] >> 6 & 3) << 4;
    }
}
