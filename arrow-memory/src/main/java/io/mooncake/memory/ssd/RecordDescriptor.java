// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.memory.BlockKey;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * The bytes of a segment file, version 1: records of one length behind each other, each the block as it lies in memory (header and payload,
 * see {@link io.mooncake.memory.block.BlockDescriptor}), nothing added, so that one I/O takes it from where it is.
 *
 * <pre>
 *   segment-N: slots N*n..N*n+n-1, slot i at (i - N*n) * record bytes
 *
 *   What its checksum, which is in the index, covers: CRC32C over
 *     offset  bytes
 *          0     32  identity digest
 *         32     32  key
 *         64      8  generation, little-endian
 *         72      8  record bytes, little-endian
 *         80      8  slot, little-endian
 *         88    ...  the record
 * </pre>
 *
 * So another record, an older one, one of another model, or one that belongs elsewhere never passes for the right one. One object a thread.
 */
final class RecordDescriptor {
    private static final int PREFIX_BYTES = 88;

    private final CRC32C crc = new CRC32C();
    private final ByteBuffer prefix = ByteBuffer.allocate(PREFIX_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    RecordDescriptor(String identityDigest, int recordBytes) {
        prefix.put(0, HexFormat.of().parseHex(identityDigest));
        prefix.putLong(72, recordBytes);
    }

    /** The checksum of what is left in {@code record}. */
    int checksum(ByteBuffer record, BlockKey key, long generation, int slot) {
        key.write(prefix, 32);
        prefix.putLong(64, generation);
        prefix.putLong(80, slot);
        crc.reset();
        crc.update(prefix.array(), 0, PREFIX_BYTES);
        crc.update(record.duplicate());
        return (int) crc.getValue();
    }

    /** The name of a segment's file. */
    static String segment(int number) {
        return "segment-" + number;
    }
}
