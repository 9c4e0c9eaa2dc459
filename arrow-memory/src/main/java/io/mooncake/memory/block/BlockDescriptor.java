// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a block, version 1. All integers little-endian; digests are the 32 bytes of SHA-256 in their order.
 *
 * <pre>
 *   offset  bytes
 *        0      8  magic "MCKVBLK1"
 *        8      4  version = 1
 *       12      4  flags: bit 0 sealed, all others 0
 *       16      4  header bytes H: where the payload starts, a multiple of 4096
 *       20      4  depth: index in the chain
 *       24      8  generation of the slot; 0 from the eviction until the next block is published
 *       32     32  chain digest: the key
 *       64     32  parent digest
 *       96      4  layers L
 *      100      4  layers written: the watermark, 0..L
 *      104      4  bytes of one layer
 *      108      4  tokens B
 *      112      4  CRC32C over bytes 0..112 and 128..128+4(L+B); written when sealed
 *      116     12  0
 *      128     4L  CRC32C of each layer written
 *   128+4L     4B  the block's own token ids
 *      ...         0 up to H
 *        H         payload: L layers, layer outermost (see {@link BlockLayout}); padded to a multiple of 4096
 * </pre>
 *
 * <p>The payload is page-aligned, so that direct I/O can take it as it lies. Publication: the writer fills header and layers, raising the
 * watermark after each, and seals last; who leases a slot after the slab's word said sealed sees all of it. A sealed block never changes.
 *
 * <p>Any change of this layout is a new version in a new class; golden files hold this one.
 */
public final class BlockDescriptor {
    /** Version in the header. */
    public static final int VERSION = 1;

    /** Alignment of header and payload. */
    public static final int ALIGNMENT = 4096;

    /** "MCKVBLK1" read little-endian. */
    static final long MAGIC = 0x314B_4C42_564B_434DL;

    static final int FLAG_SEALED = 1;

    static final int MAGIC_OFFSET = 0;
    static final int VERSION_OFFSET = 8;
    static final int FLAGS_OFFSET = 12;
    static final int HEADER_BYTES_OFFSET = 16;
    static final int DEPTH_OFFSET = 20;
    static final int GENERATION_OFFSET = 24;
    static final int KEY_OFFSET = 32;
    static final int PARENT_OFFSET = 64;
    static final int LAYERS_OFFSET = 96;
    static final int WATERMARK_OFFSET = 100;
    static final int LAYER_BYTES_OFFSET = 104;
    static final int TOKEN_COUNT_OFFSET = 108;
    static final int HEADER_CRC_OFFSET = 112;
    static final int FIXED_BYTES = 128;

    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private BlockDescriptor() {}

    /** Bytes in front of the payload. */
    public static int headerBytes(BlockLayout layout) {
        return align(FIXED_BYTES + 4 * layout.layers() + 4 * layout.blockTokens());
    }

    /** Bytes of a whole block: header and padded payload. */
    public static long strideBytes(BlockLayout layout) {
        return headerBytes(layout) + (((long) layout.payloadBytes() + ALIGNMENT - 1) & -ALIGNMENT);
    }

    private static int align(int bytes) {
        return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** The header at {@code address} as a buffer in the right byte order. */
    public static ByteBuffer header(long address, BlockLayout layout) {
        return MemoryUtil.directBuffer(address, headerBytes(layout)).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Writes the header of a block whose layers are yet to come: not sealed, watermark 0. */
    public static void begin(
            ByteBuffer header,
            BlockLayout layout,
            long generation,
            BlockKey key,
            BlockKey parent,
            int depth,
            int[] tokens,
            int tokensOffset) {
        for (int i = 0; i < FIXED_BYTES; i += 8) {
            header.putLong(i, 0);
        }
        header.putLong(MAGIC_OFFSET, MAGIC);
        header.putInt(VERSION_OFFSET, VERSION);
        header.putInt(HEADER_BYTES_OFFSET, headerBytes(layout));
        header.putInt(DEPTH_OFFSET, depth);
        header.putLong(GENERATION_OFFSET, generation);
        key.write(header, KEY_OFFSET);
        parent.write(header, PARENT_OFFSET);
        header.putInt(LAYERS_OFFSET, layout.layers());
        header.putInt(LAYER_BYTES_OFFSET, layout.layerBytes());
        header.putInt(TOKEN_COUNT_OFFSET, layout.blockTokens());
        for (int layer = 0; layer < layout.layers(); layer++) {
            header.putInt(FIXED_BYTES + 4 * layer, 0);
        }
        int at = tokensStart(layout);
        for (int i = 0; i < layout.blockTokens(); i++) {
            header.putInt(at + 4 * i, tokens[tokensOffset + i]);
        }
    }

    /** Offset in the header of the generation, which readers of other processes compare after they copied: 8-aligned, little-endian. */
    public static int generationOffset() {
        return GENERATION_OFFSET;
    }

    /**
     * Takes the generation out of the header at {@code address} before a byte of the payload changes. A reader that copied one of the new
     * bytes and looks at the generation afterwards does not find the one it was promised.
     */
    public static void retract(long address) {
        MemoryUtil.putLong(address + GENERATION_OFFSET, 0);
        // The word must be seen to change before the payload is.
        VarHandle.storeStoreFence();
    }

    /** Records the checksum of {@code layer}, which is complete, and raises the watermark behind it. Layers come in order. */
    public static void layerWritten(ByteBuffer header, int layer, int crc) {
        header.putInt(FIXED_BYTES + 4 * layer, crc);
        header.putInt(WATERMARK_OFFSET, layer + 1);
    }

    /** Marks the block complete and checksums the header. */
    public static void seal(ByteBuffer header, BlockLayout layout) {
        header.putInt(FLAGS_OFFSET, FLAG_SEALED);
        header.putInt(HEADER_CRC_OFFSET, headerCrc(header, layout));
    }

    /**
     * What is wrong with a sealed header, or null when nothing is.
     *
     * @param layout what the pool's blocks look like
     */
    public static @Nullable String problem(ByteBuffer header, BlockLayout layout) {
        if (header.getLong(MAGIC_OFFSET) != MAGIC) {
            return "magic: " + Long.toHexString(header.getLong(MAGIC_OFFSET)) + " (expected: " + Long.toHexString(MAGIC)
                    + ")";
        }
        String problem = mismatch("version", header.getInt(VERSION_OFFSET), VERSION);
        problem = problem != null ? problem : mismatch("flags", header.getInt(FLAGS_OFFSET), FLAG_SEALED);
        problem = problem != null
                ? problem
                : mismatch("header bytes", header.getInt(HEADER_BYTES_OFFSET), headerBytes(layout));
        problem = problem != null ? problem : mismatch("layers", header.getInt(LAYERS_OFFSET), layout.layers());
        problem = problem != null
                ? problem
                : mismatch("layers written", header.getInt(WATERMARK_OFFSET), layout.layers());
        problem = problem != null
                ? problem
                : mismatch("layer bytes", header.getInt(LAYER_BYTES_OFFSET), layout.layerBytes());
        problem =
                problem != null ? problem : mismatch("tokens", header.getInt(TOKEN_COUNT_OFFSET), layout.blockTokens());
        return problem != null
                ? problem
                : mismatch("header checksum", header.getInt(HEADER_CRC_OFFSET), headerCrc(header, layout));
    }

    private static @Nullable String mismatch(String name, int value, int expected) {
        return value == expected ? null : name + ": " + value + " (expected: " + expected + ")";
    }

    private static int headerCrc(ByteBuffer header, BlockLayout layout) {
        CRC32C crc = new CRC32C();
        crc.update(header.slice(0, HEADER_CRC_OFFSET));
        crc.update(header.slice(FIXED_BYTES, 4 * (layout.layers() + layout.blockTokens())));
        return (int) crc.getValue();
    }

    /** CRC32C of layer {@code layer} of the payload at {@code payloadAddress}. */
    public static int layerCrc(long payloadAddress, BlockLayout layout, int layer) {
        CRC32C crc = new CRC32C();
        crc.update(MemoryUtil.directBuffer(payloadAddress + layout.keyOffset(layer), layout.layerBytes()));
        return (int) crc.getValue();
    }

    /** The chain digest. */
    public static BlockKey key(ByteBuffer header) {
        return BlockKey.read(header, KEY_OFFSET);
    }

    /** The parent's digest. */
    public static BlockKey parent(ByteBuffer header) {
        return BlockKey.read(header, PARENT_OFFSET);
    }

    /** Index in the chain. */
    public static int depth(ByteBuffer header) {
        return header.getInt(DEPTH_OFFSET);
    }

    /** Generation of the slot when the block was begun. */
    public static long generation(ByteBuffer header) {
        return header.getLong(GENERATION_OFFSET);
    }

    /** Layers that are complete. */
    public static int layersWritten(ByteBuffer header) {
        return header.getInt(WATERMARK_OFFSET);
    }

    /** A copy of the layers' checksums. */
    public static int[] layerCrcs(ByteBuffer header, BlockLayout layout) {
        int[] crcs = new int[layout.layers()];
        for (int layer = 0; layer < crcs.length; layer++) {
            crcs[layer] = header.getInt(FIXED_BYTES + 4 * layer);
        }
        return crcs;
    }

    /** A copy of the block's own tokens. */
    public static int[] tokens(ByteBuffer header, BlockLayout layout) {
        int[] tokens = new int[layout.blockTokens()];
        int at = tokensStart(layout);
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = header.getInt(at + 4 * i);
        }
        return tokens;
    }

    /** Whether the block's own tokens are {@code tokens[offset..offset+B)}. */
    public static boolean hasTokens(ByteBuffer header, BlockLayout layout, int[] tokens, int offset) {
        int at = tokensStart(layout);
        for (int i = 0; i < layout.blockTokens(); i++) {
            if (header.getInt(at + 4 * i) != tokens[offset + i]) {
                return false;
            }
        }
        return true;
    }

    private static int tokensStart(BlockLayout layout) {
        return FIXED_BYTES + 4 * layout.layers();
    }

    /** Whether the header at {@code address} carries exactly {@code key}; no allocation. */
    public static boolean hasKey(long address, BlockKey key) {
        return word(address + KEY_OFFSET) == key.word0()
                && word(address + KEY_OFFSET + 8) == key.word1()
                && word(address + KEY_OFFSET + 16) == key.word2()
                && word(address + KEY_OFFSET + 24) == key.word3();
    }

    private static long word(long address) {
        long word = MemoryUtil.getLong(address);
        return LITTLE_ENDIAN ? Long.reverseBytes(word) : word;
    }
}
