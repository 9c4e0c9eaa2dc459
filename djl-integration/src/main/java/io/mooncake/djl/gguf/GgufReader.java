// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the head of a GGUF file. Each count and length is compared with the bytes that are left before anything is allocated for
 * it, so a damaged or hostile file costs a refusal and never memory.
 *
 * <p>Grammar, little-endian (versions 2 and 3 share it):
 *
 * <pre>
 * file   := "GGUF" version:u32 tensors:u64 entries:u64 entry* tensor* padding data
 * entry  := key:string type:u32 value          string := length:u64 bytes (UTF-8)
 * array  := type:u32 count:u64 value*          (of scalars or strings; no arrays of arrays)
 * tensor := name:string rank:u32 dims:u64[rank] type:u32 offset:u64
 * </pre>
 *
 * Offsets count from the data part, which starts at the next multiple of {@code general.alignment} (32 where absent).
 */
final class GgufReader {
    private static final int MAX_RANK = 4;
    private static final int MAX_ALIGNMENT = 1 << 20;
    /** Longest array or string, and most entries: far beyond any real model, little enough for any heap. */
    private static final int MAX_COUNT = 1 << 24;
    /** A tensor entry has at least an empty name, a rank, one length, a type and an offset. */
    private static final int MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8;
    /** A metadata entry has at least an empty key, a type and one byte. */
    private static final int MIN_ENTRY_BYTES = 8 + 4 + 1;

    private final Path path;
    private final ByteBuffer in;
    private final long fileBytes;

    int version;
    int alignment = 32;
    final Map<String, Object> values = new LinkedHashMap<>();
    final Map<String, GgufTensor> tensors = new LinkedHashMap<>();

    /** Reads from {@code head}, the first bytes of the file in little-endian order; it must hold all that comes before the data. */
    GgufReader(Path path, ByteBuffer head, long fileBytes) {
        this.path = path;
        this.in = head;
        this.fileBytes = fileBytes;
    }

    void read() {
        readMagic();
        version = in(4, "version").getInt();
        if (version != 2 && version != 3) {
            boolean swapped = Integer.reverseBytes(version) == 2 || Integer.reverseBytes(version) == 3;
            String found = swapped ? "big-endian " + Integer.reverseBytes(version) : Integer.toUnsignedString(version);
            throw refused("version at byte 4", found, "2 or 3, little-endian");
        }
        int tensorCount = count("tensor count", MIN_TENSOR_BYTES);
        int entryCount = count("metadata count", MIN_ENTRY_BYTES);
        for (int i = 0; i < entryCount; i++) {
            readEntry(i);
        }
        readAlignment();
        List<GgufTensor> relative = new ArrayList<>();
        for (int i = 0; i < tensorCount; i++) {
            relative.add(readTensor(i));
        }
        long headBytes = in.position();
        long dataOffset = tensorCount == 0 ? headBytes : (headBytes + alignment - 1) / alignment * alignment;
        place(relative, dataOffset);
    }

    private void readMagic() {
        if (fileBytes < 24) {
            throw refused("file size", fileBytes + " bytes", "at least 24 bytes, a GGUF header");
        }
        byte[] magic = new byte[4];
        in.get(magic);
        String found = new String(magic, StandardCharsets.ISO_8859_1);
        if (!found.equals("GGUF")) {
            throw refused("magic at byte 0", GgufErrors.quote(found), "\"GGUF\"");
        }
    }

    private void readEntry(int index) {
        String key = string("key of metadata entry " + index);
        String place = "metadata " + GgufErrors.printable(key);
        Object value = value(in(4, place).getInt(), place);
        if (values.put(key, value) != null) {
            throw refused(place, "a second value", "each key once");
        }
    }

    private Object value(int type, String place) {
        return switch (type) {
            case 0 -> (long) (in(1, place).get() & 0xff);
            case 1 -> (long) in(1, place).get();
            case 2 -> (long) (in(2, place).getShort() & 0xffff);
            case 3 -> (long) in(2, place).getShort();
            case 4 -> in(4, place).getInt() & 0xffffffffL;
            case 5 -> (long) in(4, place).getInt();
            case 6 -> in(4, place).getFloat();
            case 7 -> bool(place);
            case 8 -> string(place);
            case 9 -> array(place);
            case 10, 11 -> in(8, place).getLong();
            case 12 -> in(8, place).getDouble();
            default -> throw refused(place, "value type " + Integer.toUnsignedString(type), "0..12");
        };
    }

    private boolean bool(String place) {
        byte value = in(1, place).get();
        if (value != 0 && value != 1) {
            throw refused(place, "bool byte " + (value & 0xff), "0 or 1");
        }
        return value == 1;
    }

    private Object array(String place) {
        int type = in(4, place).getInt();
        return switch (type) {
            case 0, 1, 2, 3, 4, 5 -> ints(type, place);
            case 6 -> floats(place);
            case 7 -> booleans(place);
            case 8 -> strings(place);
            case 10, 11 -> longs(place);
            case 12 -> doubles(place);
            default ->
                throw refused(
                        place,
                        "array of type " + Integer.toUnsignedString(type),
                        "an array of numbers, bools or strings");
        };
    }

    private int[] ints(int type, String place) {
        int[] out = new int[count(place + " length", type < 2 ? 1 : type < 4 ? 2 : 4)];
        for (int i = 0; i < out.length; i++) {
            out[i] = (int) (long) (Long) value(type, place);
        }
        return out;
    }

    private long[] longs(String place) {
        long[] out = new long[count(place + " length", 8)];
        in.asLongBuffer().get(out);
        in.position(in.position() + 8 * out.length);
        return out;
    }

    private float[] floats(String place) {
        float[] out = new float[count(place + " length", 4)];
        in.asFloatBuffer().get(out);
        in.position(in.position() + 4 * out.length);
        return out;
    }

    private double[] doubles(String place) {
        double[] out = new double[count(place + " length", 8)];
        in.asDoubleBuffer().get(out);
        in.position(in.position() + 8 * out.length);
        return out;
    }

    private boolean[] booleans(String place) {
        boolean[] out = new boolean[count(place + " length", 1)];
        for (int i = 0; i < out.length; i++) {
            out[i] = bool(place);
        }
        return out;
    }

    private List<String> strings(String place) {
        int count = count(place + " length", 8);
        List<String> out = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            out.add(string(place));
        }
        return List.copyOf(out);
    }

    private String string(String place) {
        int length = count(place + " string length", 1);
        ByteBuffer bytes = in.slice(in.position(), length);
        in.position(in.position() + length);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw refused(place, "bytes that are no UTF-8", "a UTF-8 string");
        }
    }

    private void readAlignment() {
        Object value = values.get("general.alignment");
        if (value == null) {
            return;
        }
        if (!(value instanceof Long number) || number < 8 || number > MAX_ALIGNMENT || Long.bitCount(number) != 1) {
            throw refused("metadata general.alignment", value, "a power of two 8.." + MAX_ALIGNMENT);
        }
        alignment = (int) (long) number;
    }

    private GgufTensor readTensor(int index) {
        String name = string("name of tensor " + index);
        String place = "tensor " + GgufErrors.printable(name);
        int rank = in(4, place).getInt();
        if (rank < 1 || rank > MAX_RANK) {
            throw refused(place + " rank", Integer.toUnsignedString(rank), "1.." + MAX_RANK);
        }
        List<Long> dims = new ArrayList<>();
        long elements = 1;
        for (int i = 0; i < rank; i++) {
            long dim = in(8, place).getLong();
            if (dim < 1 || dim > Long.MAX_VALUE / elements) {
                throw refused(place + " dims", dims + ", " + Long.toUnsignedString(dim), "positive and within 2^63");
            }
            elements *= dim;
            dims.add(dim);
        }
        int typeId = in(4, place).getInt();
        GgmlType type = GgmlType.find(typeId);
        if (type == null) {
            throw refused(
                    place + " type",
                    GgmlType.nameOf(typeId),
                    List.of(GgmlType.values()).toString());
        }
        long offset = in(8, place).getLong();
        if (offset < 0 || offset % alignment != 0) {
            throw refused(place + " offset", Long.toUnsignedString(offset), "a multiple of " + alignment);
        }
        if (dims.get(0) % type.blockElements() != 0) {
            throw refused(place + " row", dims.get(0) + " elements", "a multiple of " + type.blockElements());
        }
        // Keeps the number of bytes within 2^63: an element takes at most four.
        if (elements > 1L << 60) {
            throw refused(place + " size", elements + " elements " + type, "within " + fileBytes + " bytes of file");
        }
        return new GgufTensor(name, type, dims, offset);
    }

    private void place(List<GgufTensor> relative, long dataOffset) {
        for (GgufTensor tensor : relative) {
            long available = fileBytes - dataOffset;
            if (tensor.bytes() > available || tensor.fileOffset() > available - tensor.bytes()) {
                throw refused(
                        "tensor " + tensor.name() + " data",
                        tensor.bytes() + " bytes at offset " + tensor.fileOffset(),
                        "within " + Math.max(0, available) + " bytes of data; is the file truncated?");
            }
            GgufTensor placed =
                    new GgufTensor(tensor.name(), tensor.type(), tensor.dims(), dataOffset + tensor.fileOffset());
            if (tensors.put(tensor.name(), placed) != null) {
                throw refused("tensor " + tensor.name(), "a second entry", "each name once");
            }
        }
        List<GgufTensor> sorted = new ArrayList<>(tensors.values());
        sorted.sort(Comparator.comparingLong(GgufTensor::fileOffset));
        for (int i = 1; i < sorted.size(); i++) {
            GgufTensor before = sorted.get(i - 1);
            GgufTensor tensor = sorted.get(i);
            if (tensor.fileOffset() < before.fileOffset() + before.bytes()) {
                throw refused(
                        "tensor " + tensor.name() + " data",
                        "offset " + (tensor.fileOffset() - dataOffset) + " inside of tensor " + before.name(),
                        "no overlap");
            }
        }
    }

    /** A u64 count of things that take at least {@code minBytes} bytes each, all of which must still fit. */
    private int count(String place, int minBytes) {
        long at = in.position();
        long count = in(8, place).getLong();
        long most = Math.min(in.remaining() / minBytes, MAX_COUNT);
        if (count < 0 || count > most) {
            throw refused(
                    place + " at byte " + at,
                    Long.toUnsignedString(count),
                    "at most " + most + ", as " + in.remaining() + " bytes follow");
        }
        return (int) count;
    }

    private ByteBuffer in(int bytes, String place) {
        if (in.remaining() < bytes) {
            throw refused(
                    place + " at byte " + in.position(),
                    "the end of the file after " + in.remaining() + " bytes",
                    bytes + " bytes");
        }
        return in;
    }

    private MooncakeException refused(String place, Object found, String expected) {
        return GgufErrors.refused(path, place, found, expected);
    }
}
