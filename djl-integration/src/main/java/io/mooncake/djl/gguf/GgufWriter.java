// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes GGUF files of version 3, little-endian, for tests and converters. The bytes depend on nothing but the calls made.
 *
 * <p>Holds what it is given until {@link #write}; large tensors are given as {@link Data}, which is asked only then. Not safe for several
 * threads.
 */
public final class GgufWriter {
    private static final int ALIGNMENT = 32;

    private record Tensor(String name, GgmlType type, long[] dims, long bytes, Data data) {}

    /** The stored bytes of one tensor, written when the file is. */
    @FunctionalInterface
    public interface Data {
        /** Writes all of them to {@code out}, which stays open. */
        void writeTo(OutputStream out) throws IOException;
    }

    private final Map<String, byte[]> entries = new LinkedHashMap<>();
    private final List<Tensor> tensors = new ArrayList<>();

    /** Adds a string. */
    public GgufWriter put(String key, String value) {
        return entry(key, 8, out -> string(out, value));
    }

    /** Adds a uint32. */
    public GgufWriter put(String key, int value) {
        return entry(key, 4, out -> int32(out, value));
    }

    /** Adds a float32. */
    public GgufWriter put(String key, float value) {
        return entry(key, 6, out -> int32(out, Float.floatToRawIntBits(value)));
    }

    /** Adds a bool. */
    public GgufWriter put(String key, boolean value) {
        return entry(key, 7, out -> out.write(value ? 1 : 0));
    }

    /** Adds an array of strings. */
    public GgufWriter put(String key, List<String> values) {
        return entry(key, 9, out -> {
            int32(out, 8);
            int64(out, values.size());
            for (String value : values) {
                string(out, value);
            }
        });
    }

    /** Adds an array of int32. */
    public GgufWriter put(String key, int[] values) {
        return entry(key, 9, out -> {
            int32(out, 5);
            int64(out, values.length);
            for (int value : values) {
                int32(out, value);
            }
        });
    }

    /** Adds an array of float32. */
    public GgufWriter put(String key, float[] values) {
        return entry(key, 9, out -> {
            int32(out, 6);
            int64(out, values.length);
            for (float value : values) {
                int32(out, Float.floatToRawIntBits(value));
            }
        });
    }

    /** Adds an F32 tensor; {@code dims} has the fastest running length first. */
    public GgufWriter tensor(String name, float[] values, long... dims) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return tensor(name, GgmlType.F32, bytes.array(), dims);
    }

    /** Adds a tensor of stored blocks; {@code dims} has the fastest running length first. */
    public GgufWriter tensor(String name, GgmlType type, byte[] data, long... dims) {
        long elements = Arrays.stream(dims).reduce(1, Math::multiplyExact);
        if (elements % type.blockElements() != 0 || type.bytes(elements) != data.length) {
            throw MooncakeException.invalid(
                    name + " data", data.length + " bytes", type + " of dims " + Arrays.toString(dims));
        }
        tensors.add(new Tensor(name, type, dims.clone(), data.length, out -> out.write(data)));
        return this;
    }

    /** Adds a tensor whose bytes are made while the file is written; {@code dims} has the fastest running length first. */
    public GgufWriter tensor(String name, GgmlType type, Data data, long... dims) {
        long elements = Arrays.stream(dims).reduce(1, Math::multiplyExact);
        if (elements % type.blockElements() != 0) {
            throw MooncakeException.invalid(name + " dims", Arrays.toString(dims), "whole blocks of " + type);
        }
        tensors.add(new Tensor(name, type, dims.clone(), type.bytes(elements), data));
        return this;
    }

    /**
     * Writes the file, replacing what is there.
     *
     * @throws MooncakeException INVALID_ARGUMENT when a {@link Data} writes another number of bytes than its tensor has
     */
    public void write(Path path) throws IOException {
        try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(path))) {
            file.write(head());
            for (Tensor tensor : tensors) {
                Counting counted = new Counting(file);
                tensor.data().writeTo(counted);
                if (counted.bytes != tensor.bytes()) {
                    throw MooncakeException.invalid(
                            tensor.name() + " data", counted.bytes + " bytes", tensor.bytes() + " bytes");
                }
                file.write(new byte[padding(tensor.bytes())]);
            }
        }
    }

    /** Counts what goes through. */
    private static final class Counting extends FilterOutputStream {
        private long bytes;

        Counting(OutputStream out) {
            super(out);
        }

        @Override
        public void write(int value) throws IOException {
            out.write(value);
            bytes++;
        }

        @Override
        public void write(byte[] values, int offset, int length) throws IOException {
            out.write(values, offset, length);
            bytes += length;
        }
    }

    private byte[] head() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.write("GGUF".getBytes(StandardCharsets.US_ASCII));
        int32(out, 3);
        int64(out, tensors.size());
        int64(out, entries.size());
        for (byte[] entry : entries.values()) {
            out.write(entry);
        }
        long offset = 0;
        for (Tensor tensor : tensors) {
            string(out, tensor.name());
            int32(out, tensor.dims().length);
            for (long dim : tensor.dims()) {
                int64(out, dim);
            }
            int32(out, tensor.type().id());
            int64(out, offset);
            offset += tensor.bytes() + padding(tensor.bytes());
        }
        out.write(new byte[padding(out.size())]);
        return bytes.toByteArray();
    }

    private interface Body {
        void write(DataOutputStream out) throws IOException;
    }

    private GgufWriter entry(String key, int type, Body body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            string(out, key);
            int32(out, type);
            body.write(out);
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot fail", e);
        }
        if (entries.put(key, bytes.toByteArray()) != null) {
            throw MooncakeException.invalid(key, "a second value", "each key once");
        }
        return this;
    }

    private static int padding(long length) {
        return (int) (-length & (ALIGNMENT - 1));
    }

    private static void string(DataOutputStream out, String value) throws IOException {
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        int64(out, bytes.length);
        out.write(bytes);
    }

    private static void int32(DataOutputStream out, int value) throws IOException {
        out.writeInt(Integer.reverseBytes(value));
    }

    private static void int64(DataOutputStream out, long value) throws IOException {
        out.writeLong(Long.reverseBytes(value));
    }
}
