// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.mooncake.base.MooncakeException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Against vectors that the Python package gguf 0.19 (numpy, by the authors of the format) made from random blocks. */
class DequantizerTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource(value = GgmlType.class, mode = EnumSource.Mode.EXCLUDE, names = "F32")
    void dequantize_goldenBlocks_givesGoldenFloats(GgmlType type) throws Exception {
        byte[] blocks = golden(type, "blocks");
        FloatBuffer expected = ByteBuffer.wrap(golden(type, "floats"))
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
        int elements = expected.remaining();
        assertThat(type.bytes(elements)).isEqualTo(blocks.length);
        float[] actual = dequantize(type, blocks, elements);
        for (int i = 0; i < elements; i++) {
            assertThat(actual[i]).as("%s element %d", type, i).isEqualTo(expected.get(i));
        }
    }

    @Test
    void dequantize_allHalves_areWhatTheirBitsSay() throws Exception {
        byte[] halves = new byte[2 << 16];
        for (int bits = 0; bits < 1 << 16; bits++) {
            halves[2 * bits] = (byte) bits;
            halves[2 * bits + 1] = (byte) (bits >> 8);
        }
        float[] floats = dequantize(GgmlType.F16, halves, 1 << 16);
        for (int bits = 0; bits < 1 << 16; bits++) {
            int exponent = bits >> 10 & 0x1f;
            double fraction = (bits & 0x3ff) / 1024.0;
            double magnitude = exponent == 0
                    ? fraction * Math.pow(2, -14)
                    : exponent == 31
                            ? (fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN)
                            : (1 + fraction) * Math.pow(2, exponent - 15);
            double expected = (bits & 0x8000) == 0 ? magnitude : -magnitude;
            assertThat(Double.valueOf(floats[bits])).as("half %04x", bits).isEqualTo(Double.valueOf(expected));
        }
    }

    @Test
    void dequantize_partsOfATensor_giveTheSameAsTheWhole() throws Exception {
        Random random = new Random(5);
        byte[] blocks = new byte[34 * 4096];
        random.nextBytes(blocks);
        float[] whole = dequantize(GgmlType.Q8_0, blocks, 32 * 4096);
        Path path = folder.resolve("parts.gguf");
        new GgufWriter().tensor("t", GgmlType.Q8_0, blocks, 32 * 4096).write(path);
        try (GgufFile file = GgufFile.open(path)) {
            GgufTensor tensor = file.requireTensor("t", 32 * 4096);
            FloatBuffer part = FloatBuffer.allocate(64);
            file.dequantize(tensor, 32 * 4094, 64, part);
            for (int i = 0; i < 64; i++) {
                assertThat(part.get(i)).isEqualTo(whole[32 * 4094 + i]);
            }
            assertThatThrownBy(() -> file.dequantize(tensor, 32 * 4095, 64, FloatBuffer.allocate(64)))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("131040+64")
                    .hasMessageContaining("within 131072");
            assertThatThrownBy(() -> file.dequantize(tensor, 1, 32, FloatBuffer.allocate(64)))
                    .hasMessageContaining("multiples of 32");
            assertThatThrownBy(() -> file.dequantize(tensor, 0, 64, FloatBuffer.allocate(63)))
                    .hasMessageContaining("target.remaining: 63 (expected: at least 64)");
        }
    }

    private float[] dequantize(GgmlType type, byte[] blocks, int elements) throws Exception {
        Path path = folder.resolve(type + ".gguf");
        new GgufWriter().tensor("t", type, blocks, elements).write(path);
        FloatBuffer out = ByteBuffer.allocateDirect(4 * elements)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
        try (GgufFile file = GgufFile.open(path)) {
            file.dequantize(file.requireTensor("t", elements), out);
        }
        assertThat(out.remaining()).isZero();
        float[] floats = new float[elements];
        out.flip().get(floats);
        return floats;
    }

    private static byte[] golden(GgmlType type, String what) throws Exception {
        try (Reader in = new InputStreamReader(
                DequantizerTest.class.getResourceAsStream("/quants-golden.json"), StandardCharsets.UTF_8)) {
            JsonObject json = new Gson().fromJson(in, JsonObject.class);
            return Base64.getDecoder()
                    .decode(json.getAsJsonObject(type.name()).get(what).getAsString());
        }
    }
}
