// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class GgufFileTest {
    @TempDir
    Path folder;

    @Test
    void open_whatTheWriterWrote_isReadBack() throws Exception {
        Path path = write(small());
        try (GgufFile file = GgufFile.open(path)) {
            GgufMetadata metadata = file.metadata();
            assertThat(file.version()).isEqualTo(3);
            assertThat(file.alignment()).isEqualTo(32);
            assertThat(metadata.keys()).containsExactly("name", "count", "eps", "flag", "texts", "numbers", "scores");
            assertThat(metadata.requireString("name")).isEqualTo("größe");
            assertThat(metadata.requireInt("count")).isEqualTo(7);
            assertThat(metadata.requireFloat("eps")).isEqualTo(1e-5f);
            assertThat(metadata.booleanOr("flag", false)).isTrue();
            assertThat(metadata.requireStrings("texts")).containsExactly("a", "", "c d");
            assertThat(metadata.findInts("numbers")).hasValue(new int[] {-1, 2});
            assertThat(metadata.findFloats("scores")).hasValue(new float[] {0.5f});
            assertThat(metadata.intOr("missing", 3)).isEqualTo(3);
            assertThat(metadata.floatOr("missing", 2)).isEqualTo(2);
            assertThat(metadata.findString("missing")).isEmpty();
            FloatBuffer floats = FloatBuffer.allocate(6);
            file.dequantize(file.requireTensor("a", 3, 2), floats);
            assertThat(floats.array()).containsExactly(1, 2, 3, 4, 5, 6);
        }
    }

    @Test
    void sha256_isThatOfTheFile() throws Exception {
        Path path = write(small());
        byte[] expected = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(path));
        try (GgufFile file = GgufFile.open(path)) {
            assertThat(file.sha256()).isEqualTo(HexFormat.of().formatHex(expected));
        }
    }

    @Test
    void metadata_wrongTypeOrMissing_namesPathKeyFoundAndExpected() throws Exception {
        Path path = write(small());
        try (GgufFile file = GgufFile.open(path)) {
            GgufMetadata metadata = file.metadata();
            refused(() -> metadata.requireInt("name"), path, "metadata name", "\"größe\"", "an integer");
            refused(() -> metadata.requireInt("gone"), path, "metadata gone", "missing", "an integer");
            refused(() -> metadata.requireString("count"), path, "metadata count", "7", "a string");
            refused(() -> metadata.requireStrings("numbers"), path, "metadata numbers", "int[]", "array of strings");
            refused(
                    () -> metadata.requireFloat("texts"),
                    path,
                    "metadata texts",
                    "array of 3 strings",
                    "a finite number");
            refused(() -> file.requireTensor("a", 2, 3), path, "tensor a", "dims [3, 2]", "dims [2, 3]");
            refused(() -> file.requireTensor("b", 2), path, "tensor b", "missing", "dims [2]");
        }
    }

    @Test
    void open_missingOrFolder_isRefused() {
        Path missing = folder.resolve("none.gguf");
        refused(() -> GgufFile.open(missing), missing, "model file", "missing", "a GGUF file");
        refused(() -> GgufFile.open(folder), folder, "model file", "no file", "a GGUF file");
    }

    static Stream<Arguments> malformed() {
        return Stream.of(
                bad("empty", out -> {}, "file size: 0 bytes", "at least 24 bytes"),
                bad("zip", out -> out.raw("PK\3\4").fill(40), "magic at byte 0: \"PK\\x03\\x04\"", "\"GGUF\""),
                bad("version 1", out -> out.head(1, 0, 0).fill(8), "version at byte 4: 1", "2 or 3"),
                bad("big-endian", out -> out.head(3 << 24, 0, 0), "version at byte 4: big-endian 3", "little-endian"),
                bad(
                        "tensors",
                        out -> out.head(3, 1L << 60, 0),
                        "tensor count at byte 8: 1152921504606846976",
                        "at most 0"),
                bad("negative", out -> out.head(3, -1, 0), "tensor count at byte 8: 18446744073709551615", "at most 0"),
                bad("entries", out -> out.head(3, 0, 5).fill(20), "metadata count at byte 16: 5", "at most 1"),
                bad("key", out -> out.head(3, 0, 1).int64(1L << 40).fill(16), "key of metadata entry 0", "at most 16"),
                bad(
                        "type",
                        out -> out.head(3, 0, 1).string("k").int32(13).fill(8),
                        "metadata k: value type 13",
                        "0..12"),
                bad(
                        "bool",
                        out -> out.head(3, 0, 1).string("k").int32(7).raw("\2"),
                        "metadata k: bool byte 2",
                        "0 or 1"),
                bad("cut", out -> out.head(3, 0, 1).string("k").int32(10).fill(3), "metadata k at byte", "8 bytes"),
                bad(
                        "utf8",
                        out -> out.head(3, 0, 1).string("k").int32(8).int64(1).raw("\u00ff"),
                        "no UTF-8",
                        "UTF-8"),
                bad(
                        "array",
                        out -> out.head(3, 0, 1).string("k").int32(9).int32(4).int64(1L << 61),
                        "metadata k length",
                        "at most 0"),
                bad(
                        "nested",
                        out -> out.head(3, 0, 1).string("k").int32(9).int32(9).int64(0),
                        "array of type 9",
                        "an array of numbers"),
                bad(
                        "twice",
                        out -> out.head(3, 0, 2).entry("k", 1).entry("k", 2),
                        "metadata k: a second value",
                        "each key once"),
                bad(
                        "alignment",
                        out -> out.head(3, 0, 1).entry("general.alignment", 12),
                        "general.alignment: 12",
                        "a power of two"),
                bad("rank", out -> out.head(3, 1, 0).string("t").int32(5).fill(64), "tensor t rank: 5", "1..4"),
                bad("dims", out -> out.tensor("t", 0, 0, 0), "tensor t dims: [], 0", "positive"),
                bad("huge", out -> out.tensor("t", 0, 0, 1L << 62), "tensor t size", "bytes of file"),
                bad("overflow", out -> out.tensor("t", 0, 0, 1L << 40, 1L << 40), "tensor t dims", "within 2^63"),
                bad("ggml type", out -> out.tensor("t", 16, 0, 256), "tensor t type: IQ2_XXS (type 16)", "Q4_K"),
                bad("odd offset", out -> out.tensor("t", 0, 4, 4).fill(64), "tensor t offset: 4", "a multiple of 32"),
                bad("row", out -> out.tensor("t", 8, 0, 33).fill(64), "tensor t row: 33 elements", "a multiple of 32"),
                bad(
                        "truncated",
                        out -> out.tensor("t", 0, 0, 400).fill(64),
                        "tensor t data: 1600 bytes at offset 0",
                        "truncated?"),
                bad(
                        "beyond",
                        out -> out.tensor("t", 0, 1L << 62, 4).fill(64),
                        "tensor t data: 16 bytes at offset",
                        "within"),
                bad("same name", out -> out.twoTensors("t", "t", 0, 32), "tensor t: a second entry", "each name once"),
                bad(
                        "overlap",
                        out -> out.twoTensors("t", "u", 0, 0),
                        "tensor u data: offset 0 inside of tensor t",
                        "no overlap"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource
    void malformed(String name, byte[] bytes, String found, String expected) throws Exception {
        Path path = folder.resolve("bad.gguf");
        Files.write(path, bytes);
        refused(() -> GgufFile.open(path), path, found, "", expected);
    }

    /** A sparse file costs nothing to make: what it claims to hold must not cost the heap. */
    @Test
    void open_hugeArrayOrString_isRefusedBeforeMemoryIsTaken() throws Exception {
        Path path = folder.resolve("sparse.gguf");
        for (byte[] head : new byte[][] {
            new Raw()
                    .head(3, 0, 1)
                    .string("k")
                    .int32(9)
                    .int32(0)
                    .int64(2_000_000_000)
                    .out
                    .toByteArray(),
            new Raw()
                    .head(3, 0, 1)
                    .string("k")
                    .int32(8)
                    .int64(2_000_000_000)
                    .out
                    .toByteArray(),
        }) {
            Files.write(path, head);
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                file.setLength(2_100_000_000L);
            }
            refused(() -> GgufFile.open(path), path, "metadata k", "2000000000", "at most 16777216");
        }
    }

    @Test
    void write_streamedTensorOfAnotherLength_isRefused() throws Exception {
        Path path = folder.resolve("streamed.gguf");
        new GgufWriter()
                .tensor("w", GgmlType.F32, out -> out.write(new byte[] {0, 0, (byte) 0x80, 0x3f, 0, 0, 0, 0x40}), 2)
                .write(path);
        try (GgufFile file = GgufFile.open(path)) {
            FloatBuffer values = FloatBuffer.allocate(2);
            file.dequantize(file.requireTensor("w", 2), values);
            assertThat(values.array()).containsExactly(1, 2);
        }
        GgufWriter wrong = new GgufWriter().tensor("w", GgmlType.F32, out -> out.write(new byte[7]), 2);
        assertThatThrownBy(() -> wrong.write(path)).hasMessageContaining("w data: 7 bytes (expected: 8 bytes)");
    }

    @Test
    void open_truncatedAtEveryByte_isRefusedOrLosesOnlyPadding() throws Exception {
        byte[] whole = Files.readAllBytes(write(small()));
        Path path = folder.resolve("cut.gguf");
        int dataEnd = whole.length - 8; // 24 bytes of data, padded to 32
        for (int length = 0; length < whole.length; length++) {
            Files.write(path, Arrays.copyOf(whole, length));
            Throwable error = catchThrowable(() -> GgufFile.open(path).close());
            if (length < dataEnd) {
                assertThat(error).as("cut at %d", length).isInstanceOf(MooncakeException.class);
                assertThat(error).hasMessageContaining(path.toString()).hasMessageContaining("(expected: ");
            } else {
                assertThat(error).as("cut at %d", length).isNull();
            }
        }
    }

    @Test
    void open_randomlyDamaged_isReadOrRefusedButNeverFailsOtherwise() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        Random random = new Random(seed);
        byte[] whole = Files.readAllBytes(write(small()));
        Path path = folder.resolve("damaged.gguf");
        int rounds = Boolean.getBoolean("mooncake.long") ? 20_000 : 2_000;
        Assertions.assertTimeoutPreemptively(Duration.ofMinutes(Boolean.getBoolean("mooncake.long") ? 20 : 1), () -> {
            for (int round = 0; round < rounds; round++) {
                byte[] damaged = whole.clone();
                for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                    damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
                }
                Files.write(path, damaged);
                readAll(path, "seed " + seed + " round " + round);
            }
        });
    }

    private static void readAll(Path path, String round) {
        try (GgufFile file = GgufFile.open(path)) {
            for (GgufTensor tensor : file.tensors()) {
                file.dequantize(tensor, FloatBuffer.allocate(Math.toIntExact(tensor.elements())));
            }
        } catch (MooncakeException e) {
            assertThat(e.code()).as(round).isEqualTo(MooncakeException.Code.MODEL_REFUSED);
        } catch (Throwable e) {
            throw new AssertionError(round, e);
        }
    }

    private static GgufWriter small() {
        return new GgufWriter()
                .put("name", "größe")
                .put("count", 7)
                .put("eps", 1e-5f)
                .put("flag", true)
                .put("texts", List.of("a", "", "c d"))
                .put("numbers", new int[] {-1, 2})
                .put("scores", new float[] {0.5f})
                .tensor("a", new float[] {1, 2, 3, 4, 5, 6}, 3, 2);
    }

    private Path write(GgufWriter writer) throws IOException {
        Path path = folder.resolve("small.gguf");
        writer.write(path);
        return path;
    }

    private static void refused(ThrowingCallable call, Path path, String place, String found, String expected) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.MODEL_REFUSED))
                .hasMessageStartingWith(path + ": ")
                .hasMessageContaining(place)
                .hasMessageContaining(found)
                .hasMessageContaining(expected);
    }

    private static Arguments bad(String name, Consumer<Raw> content, String found, String expected) {
        Raw raw = new Raw();
        content.accept(raw);
        return Arguments.of(name, raw.out.toByteArray(), found, expected);
    }

    /** Writes pieces of a file without the writer's checks. */
    private static final class Raw {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();

        Raw raw(String latin1) {
            return add(latin1.getBytes(StandardCharsets.ISO_8859_1));
        }

        Raw fill(int count) {
            return add(new byte[count]);
        }

        Raw int32(int value) {
            return add(ByteBuffer.allocate(4)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(value)
                    .array());
        }

        Raw int64(long value) {
            return add(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(value)
                    .array());
        }

        Raw string(String value) {
            return int64(value.length()).raw(value);
        }

        Raw head(int version, long tensors, long entries) {
            return raw("GGUF").int32(version).int64(tensors).int64(entries);
        }

        Raw entry(String key, int value) {
            return string(key).int32(4).int32(value);
        }

        Raw tensor(String name, int type, long offset, long... dims) {
            return head(3, 1, 0).tensorEntry(name, type, offset, dims);
        }

        Raw tensorEntry(String name, int type, long offset, long... dims) {
            string(name).int32(dims.length);
            Arrays.stream(dims).forEach(this::int64);
            return int32(type).int64(offset);
        }

        Raw twoTensors(String first, String second, long firstOffset, long secondOffset) {
            return head(3, 2, 0)
                    .tensorEntry(first, 0, firstOffset, 4)
                    .tensorEntry(second, 0, secondOffset, 4)
                    .fill(128);
        }

        private Raw add(byte[] bytes) {
            try {
                out.write(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return this;
        }
    }
}
