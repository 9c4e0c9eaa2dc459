// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/** A GGUF file again with all weights as F32: what another program computes from it then has no rounding of its own to 8 bits. */
public final class PlainCopy {
    private static final int STEP = 1 << 20;

    private PlainCopy() {}

    /** Writes the copy, replacing what is there; four bytes a weight. */
    public static void write(Path source, Path target) throws IOException {
        GgufReader reader;
        try (FileChannel channel = FileChannel.open(source, StandardOpenOption.READ)) {
            ByteBuffer head = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            reader = new GgufReader(source, head.order(ByteOrder.LITTLE_ENDIAN), channel.size());
            reader.read();
        }
        try (GgufFile file = GgufFile.open(source)) {
            GgufWriter writer = new GgufWriter();
            reader.values.forEach((key, value) -> put(writer, key, value));
            for (GgufTensor tensor : file.tensors()) {
                long[] dims = tensor.dims().stream().mapToLong(Long::longValue).toArray();
                writer.tensor(tensor.name(), GgmlType.F32, out -> copy(file, tensor, out), dims);
            }
            writer.write(target);
        }
    }

    @SuppressWarnings("unchecked") // the reader makes no other lists
    private static void put(GgufWriter writer, String key, Object value) {
        if (key.equals("general.file_type")) {
            writer.put(key, 0); // all F32
        } else if (value instanceof String text) {
            writer.put(key, text);
        } else if (value instanceof Long number) {
            writer.put(key, Math.toIntExact(number));
        } else if (value instanceof Float number) {
            writer.put(key, number);
        } else if (value instanceof Boolean bool) {
            writer.put(key, bool);
        } else if (value instanceof int[] numbers) {
            writer.put(key, numbers);
        } else if (value instanceof float[] numbers) {
            writer.put(key, numbers);
        } else if (value instanceof List<?> texts) {
            writer.put(key, (List<String>) texts);
        } else {
            throw new IllegalArgumentException(Map.of(key, value).toString());
        }
    }

    private static void copy(GgufFile file, GgufTensor tensor, OutputStream out) throws IOException {
        ByteBuffer step = ByteBuffer.allocate(4 * STEP).order(ByteOrder.LITTLE_ENDIAN);
        for (long done = 0; done < tensor.elements(); done += STEP) {
            int count = (int) Math.min(STEP, tensor.elements() - done);
            file.dequantize(tensor, done, count, step.asFloatBuffer());
            out.write(step.array(), 0, 4 * count);
        }
    }
}
