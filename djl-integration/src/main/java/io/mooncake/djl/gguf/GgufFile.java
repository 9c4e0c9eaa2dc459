// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An open GGUF file, version 2 or 3, little-endian: its metadata, its tensors, and their values as F32.
 *
 * <p>Everything is checked against the size of the file when it is opened. Tensor bytes are mapped read-only while they are read;
 * the file must not be shortened meanwhile.
 *
 * <p>Ownership: {@link #close()} closes the file; mappings go with the garbage collector. Threading: all methods may be called by
 * several threads at once. Errors: {@link MooncakeException} with {@code MODEL_REFUSED} names path, place, what was found and what
 * was expected.
 */
public final class GgufFile implements AutoCloseable {
    private static final int DIGEST_STEP_BYTES = 1 << 20;

    private final Path path;
    private final FileChannel channel;
    private final int version;
    private final int alignment;
    private final GgufMetadata metadata;
    private final Map<String, GgufTensor> tensors;

    private GgufFile(Path path, FileChannel channel, GgufReader reader) {
        this.path = path;
        this.channel = channel;
        this.version = reader.version;
        this.alignment = reader.alignment;
        this.metadata = new GgufMetadata(path, reader.values);
        this.tensors = Collections.unmodifiableMap(reader.tensors);
    }

    /** Opens and checks the file. The caller owes a {@link #close()}. */
    public static GgufFile open(Path path) {
        if (!Files.isRegularFile(path)) {
            throw GgufErrors.refused(path, "model file", Files.exists(path) ? "no file" : "missing", "a GGUF file");
        }
        FileChannel channel = openChannel(path);
        try {
            long fileBytes = channel.size();
            ByteBuffer head = channel.map(FileChannel.MapMode.READ_ONLY, 0, Math.min(fileBytes, Integer.MAX_VALUE));
            GgufReader reader = new GgufReader(path, head.order(ByteOrder.LITTLE_ENDIAN), fileBytes);
            reader.read();
            return new GgufFile(path, channel, reader);
        } catch (IOException | RuntimeException e) {
            closeAfter(channel, e);
            throw e instanceof RuntimeException refusal ? refusal : unreadable(path, (IOException) e);
        }
    }

    private static FileChannel openChannel(Path path) {
        try {
            return FileChannel.open(path, StandardOpenOption.READ);
        } catch (NoSuchFileException e) {
            throw GgufErrors.refused(path, "model file", "missing", "a GGUF file");
        } catch (IOException e) {
            throw unreadable(path, e);
        }
    }

    /** The path it was opened by. */
    public Path path() {
        return path;
    }

    /** The version of the format: 2 or 3. */
    public int version() {
        return version;
    }

    /** Bytes that tensor offsets are a multiple of. */
    public int alignment() {
        return alignment;
    }

    /** The key-value part. */
    public GgufMetadata metadata() {
        return metadata;
    }

    /** All tensors in the order of the file. */
    public Collection<GgufTensor> tensors() {
        return tensors.values();
    }

    /** The tensor of that name, empty where there is none. */
    public Optional<GgufTensor> findTensor(String name) {
        return Optional.ofNullable(tensors.get(name));
    }

    /** The tensor of that name, refused unless it is there with exactly these dims (fastest running first). */
    public GgufTensor requireTensor(String name, long... dims) {
        List<Long> expected = Arrays.stream(dims).boxed().toList();
        GgufTensor tensor = tensors.get(name);
        if (tensor == null) {
            throw GgufErrors.refused(path, "tensor " + name, "missing", "dims " + expected);
        }
        if (!tensor.dims().equals(expected)) {
            throw GgufErrors.refused(path, "tensor " + name, "dims " + tensor.dims(), "dims " + expected);
        }
        return tensor;
    }

    /**
     * Writes all elements as F32 to {@code target} from its position on, and moves the position. For tensors of less than 2^31
     * elements; a direct buffer in native order is the fast case.
     */
    public void dequantize(GgufTensor tensor, FloatBuffer target) {
        long elements = tensor.elements();
        if (elements > Integer.MAX_VALUE) {
            throw GgufErrors.refused(
                    path, "tensor " + tensor.name(), elements + " elements", "at most " + Integer.MAX_VALUE);
        }
        dequantize(tensor, 0, (int) elements, target);
    }

    /**
     * Writes {@code count} elements from {@code first} on as F32 to {@code target}, at its position, and moves the position. Both
     * numbers are multiples of the type's block. Parts of one tensor may be read by several threads at once, each with its own
     * buffer object.
     */
    public void dequantize(GgufTensor tensor, long first, int count, FloatBuffer target) {
        GgmlType type = tensor.type();
        if (first < 0 || count < 0 || first > tensor.elements() - count) {
            throw MooncakeException.invalid(
                    tensor.name() + " elements", first + "+" + count, "within " + tensor.elements());
        }
        if (first % type.blockElements() != 0 || count % type.blockElements() != 0) {
            throw MooncakeException.invalid(
                    tensor.name() + " elements", first + "+" + count, "multiples of " + type.blockElements());
        }
        if (target.remaining() < count) {
            throw MooncakeException.invalid("target.remaining", target.remaining(), "at least " + count);
        }
        // A mapping is limited to 2^31 bytes, and F32 takes four an element.
        int step = Integer.MAX_VALUE / 4 / type.blockElements() * type.blockElements();
        for (int done = 0; done < count; ) {
            int part = Math.min(step, count - done);
            ByteBuffer bytes = map(tensor, type.bytes(first + done), type.bytes(part));
            Dequantizer.run(type, bytes, part, target);
            done += part;
        }
    }

    /** SHA-256 over the whole file, in lower-case hex: the model's digest. Reads the file; about 0.5 s for a gigabyte. */
    public String sha256() {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            ByteBuffer step = ByteBuffer.allocate(DIGEST_STEP_BYTES);
            for (long at = 0; channel.read(step, at) > 0; at += step.limit(), step.clear()) {
                digest.update(step.flip());
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new MooncakeException(MooncakeException.Code.INTERNAL, "this JDK has no SHA-256", e);
        } catch (IOException e) {
            throw unreadable(path, e);
        }
    }

    /** Closes the file. Idempotent. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw unreadable(path, e);
        }
    }

    private ByteBuffer map(GgufTensor tensor, long offset, long bytes) {
        try {
            return channel.map(FileChannel.MapMode.READ_ONLY, tensor.fileOffset() + offset, bytes)
                    .order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException e) {
            throw unreadable(path, e);
        }
    }

    private static MooncakeException unreadable(Path path, IOException e) {
        return new MooncakeException(
                MooncakeException.Code.MODEL_REFUSED, path + ": " + e + " (expected: a readable GGUF file)", e);
    }

    private static void closeAfter(FileChannel channel, Exception failure) {
        try {
            channel.close();
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }
}
