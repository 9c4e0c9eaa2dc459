// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.MemoryRegion;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.Test;

class BlockDescriptorTest {
    private static final BlockLayout LAYOUT = new BlockLayout(2, 1, 4, 2, 4);
    private static final int[] TOKENS = {-1, 0, 1, 49151, Integer.MAX_VALUE};

    @Test
    void write_goldenFile_givesItsBytes() throws Exception {
        byte[] golden = golden();
        assertThat(BlockDescriptor.strideBytes(LAYOUT)).isEqualTo(golden.length);
        try (MemoryRegion region = MemoryRegion.allocate(golden.length)) {
            long address = region.address();
            long payload = address + BlockDescriptor.headerBytes(LAYOUT);
            MemoryUtil.setMemory(address, 128, (byte) 0x55); // leftovers of the slot's last block
            for (int i = 0; i < LAYOUT.payloadBytes(); i++) {
                MemoryUtil.putByte(payload + i, (byte) (7 * i + 3));
            }
            ByteBuffer header = BlockDescriptor.header(address, LAYOUT);
            BlockDescriptor.begin(header, LAYOUT, 0x0102030405L, sha256("key"), sha256("parent"), 5, TOKENS, 1);
            assertThat(BlockDescriptor.layersWritten(header)).isZero();
            assertThat(BlockDescriptor.problem(header, LAYOUT)).startsWith("flags: 0");
            for (int layer = 0; layer < 2; layer++) {
                BlockDescriptor.layerWritten(header, layer, BlockDescriptor.layerCrc(payload, LAYOUT, layer));
                assertThat(BlockDescriptor.layersWritten(header)).isEqualTo(layer + 1);
            }
            BlockDescriptor.seal(header, LAYOUT);
            byte[] written = new byte[golden.length];
            MemoryUtil.copyFromMemory(address, written, 0, written.length);
            assertThat(written).isEqualTo(golden);
            assertThat(BlockDescriptor.hasKey(address, sha256("key"))).isTrue();
            assertThat(BlockDescriptor.hasKey(address, sha256("parent"))).isFalse();
        }
    }

    @Test
    void read_goldenFile_givesItsFields() throws Exception {
        ByteBuffer header = ByteBuffer.wrap(golden()).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(BlockDescriptor.problem(header, LAYOUT)).isNull();
        assertThat(BlockDescriptor.key(header)).isEqualTo(sha256("key"));
        assertThat(BlockDescriptor.parent(header)).isEqualTo(sha256("parent"));
        assertThat(BlockDescriptor.depth(header)).isEqualTo(5);
        assertThat(BlockDescriptor.generation(header)).isEqualTo(0x0102030405L);
        assertThat(BlockDescriptor.layersWritten(header)).isEqualTo(2);
        assertThat(BlockDescriptor.tokens(header, LAYOUT)).containsExactly(0, 1, 49151, Integer.MAX_VALUE);
        assertThat(BlockDescriptor.hasTokens(header, LAYOUT, TOKENS, 1)).isTrue();
        assertThat(BlockDescriptor.hasTokens(header, LAYOUT, TOKENS, 0)).isFalse();
        assertThat(BlockDescriptor.layerCrcs(header, LAYOUT)).hasSize(2);
    }

    @Test
    void problem_anyBitOfTheHeaderFlipped_isFound() throws Exception {
        byte[] golden = golden();
        int meaningful = BlockDescriptor.FIXED_BYTES + 4 * (LAYOUT.layers() + LAYOUT.blockTokens());
        for (int bit = 0; bit < 8 * meaningful; bit++) {
            int at = bit / 8;
            if (at >= BlockDescriptor.HEADER_CRC_OFFSET + 4 && at < BlockDescriptor.FIXED_BYTES) {
                continue; // reserved
            }
            golden[at] ^= (byte) (1 << (bit % 8));
            ByteBuffer header = ByteBuffer.wrap(golden).order(ByteOrder.LITTLE_ENDIAN);
            assertThat(BlockDescriptor.problem(header, LAYOUT))
                    .as("bit %d of byte %d", bit % 8, at)
                    .isNotNull();
            golden[at] ^= (byte) (1 << (bit % 8));
        }
    }

    @Test
    void headerBytes_manyLayersAndTokens_isWholePages() {
        BlockLayout large = new BlockLayout(100, 1, 1000, 1, 1);
        assertThat(BlockDescriptor.headerBytes(large)).isEqualTo(8192);
        assertThat(BlockDescriptor.strideBytes(large)).isEqualTo(8192 + 200_704);
    }

    private static BlockKey sha256(String text) throws Exception {
        return BlockKey.of(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.US_ASCII)));
    }

    private static byte[] golden() throws IOException {
        try (InputStream in = BlockDescriptorTest.class.getResourceAsStream("block-v1.bin")) {
            return in.readAllBytes();
        }
    }
}
