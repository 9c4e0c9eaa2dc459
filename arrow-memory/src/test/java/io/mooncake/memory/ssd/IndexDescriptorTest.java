// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.ssd.IndexDescriptor.Header;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.junit.jupiter.api.Test;

/** Version 1 against a file that another program made: header, a page of entries, footer. */
final class IndexDescriptorTest {
    private static final int PAGE = IndexDescriptor.PAGE_BYTES;
    private static final int RECORD = 16_384;
    private static final long GENERATION = 0x0102030405060708L;
    private static final long STORE = 0x1122334455667788L;
    private static final Header HEADER = new Header(3, STORE, Records.IDENTITY, RECORD, 8, 1, "node-\u00e4");

    private static BlockKey sha256(String text) throws Exception {
        return BlockKey.of(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static byte[] golden() throws Exception {
        try (InputStream in = IndexDescriptorTest.class.getResourceAsStream("index-v1.bin")) {
            return in.readAllBytes();
        }
    }

    private static int recordChecksum() throws Exception {
        ByteBuffer record = Records.memory(RECORD);
        for (int i = 0; i < RECORD; i++) {
            record.put(i, (byte) (7 * i + 3));
        }
        return new RecordDescriptor(Records.IDENTITY, RECORD).checksum(record, sha256("one"), GENERATION, 5);
    }

    @Test
    void write_goldenFile_givesItsBytes() throws Exception {
        ByteBuffer file = IndexDescriptor.pages(3);
        for (int i = 0; i < file.capacity(); i++) {
            file.put(i, (byte) 0x55);
        }
        IndexDescriptor.header(file, 0, 0, HEADER);
        IndexDescriptor.begin(file, PAGE, IndexDescriptor.KIND_ENTRIES, 3, STORE, 1);
        IndexDescriptor.add(file, PAGE, sha256("one"), GENERATION, 5, recordChecksum(), IndexDescriptor.ENTRY_STORED);
        IndexDescriptor.add(file, PAGE, sha256("two"), 9, 6, 0xDEADBEEF, IndexDescriptor.ENTRY_REMOVED);
        IndexDescriptor.seal(file, PAGE);
        IndexDescriptor.header(file, 2 * PAGE, 2, HEADER);
        byte[] written = new byte[3 * PAGE];
        file.get(0, written);
        assertThat(written).isEqualTo(golden());
    }

    @Test
    void read_goldenFile_givesItsFields() throws Exception {
        ByteBuffer file = ByteBuffer.wrap(golden()).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(IndexDescriptor.readHeader(file, 0, 0)).isEqualTo(HEADER);
        assertThat(IndexDescriptor.readHeader(file, 2 * PAGE, 2)).isEqualTo(HEADER);
        assertThat(IndexDescriptor.readHeader(file, 0, 2)).isNull();
        assertThat(IndexDescriptor.intact(file, PAGE)).isTrue();
        assertThat(IndexDescriptor.isEntries(file, PAGE, HEADER, 1)).isTrue();
        assertThat(IndexDescriptor.isEntries(file, PAGE, HEADER, 2)).isFalse();
        assertThat(IndexDescriptor.count(file, PAGE)).isEqualTo(2);
        assertThat(IndexDescriptor.key(file, PAGE, 0)).isEqualTo(sha256("one"));
        assertThat(IndexDescriptor.generation(file, PAGE, 0)).isEqualTo(GENERATION);
        assertThat(IndexDescriptor.slot(file, PAGE, 0)).isEqualTo(5);
        assertThat(IndexDescriptor.recordCrc(file, PAGE, 0)).isEqualTo(recordChecksum());
        assertThat(IndexDescriptor.entryKind(file, PAGE, 0)).isEqualTo(IndexDescriptor.ENTRY_STORED);
        assertThat(IndexDescriptor.key(file, PAGE, 1)).isEqualTo(sha256("two"));
        assertThat(IndexDescriptor.entryKind(file, PAGE, 1)).isEqualTo(IndexDescriptor.ENTRY_REMOVED);
    }

    @Test
    void intact_anyBitFlipped_isFound() throws Exception {
        ByteBuffer file = ByteBuffer.wrap(golden()).order(ByteOrder.LITTLE_ENDIAN);
        for (int bit = 0; bit < 8 * PAGE; bit++) {
            int at = PAGE + bit / 8;
            file.put(at, (byte) (file.get(at) ^ 1 << bit % 8));
            assertThat(IndexDescriptor.intact(file, PAGE)).as("bit %d", bit).isFalse();
            file.put(at, (byte) (file.get(at) ^ 1 << bit % 8));
        }
    }

    @Test
    void checksum_anythingOfTheIdentityDiffers_differs() throws Exception {
        ByteBuffer record = Records.memory(RECORD);
        Records.fill(record, 1);
        BlockKey key = sha256("one");
        RecordDescriptor descriptor = new RecordDescriptor(Records.IDENTITY, RECORD);
        int crc = descriptor.checksum(record, key, GENERATION, 5);
        assertThat(descriptor.checksum(record, key, GENERATION, 5)).isEqualTo(crc);
        assertThat(descriptor.checksum(record, sha256("two"), GENERATION, 5)).isNotEqualTo(crc);
        assertThat(descriptor.checksum(record, key, GENERATION + 1, 5)).isNotEqualTo(crc);
        assertThat(descriptor.checksum(record, key, GENERATION, 6)).isNotEqualTo(crc);
        assertThat(new RecordDescriptor("f".repeat(64), RECORD).checksum(record, key, GENERATION, 5))
                .isNotEqualTo(crc);
        assertThat(new RecordDescriptor(Records.IDENTITY, RECORD + 4096).checksum(record, key, GENERATION, 5))
                .isNotEqualTo(crc);
    }
}
