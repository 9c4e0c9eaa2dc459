// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ChainHashTest {
    @Test
    void available_bridgeAndProcessor_needsBoth() throws IOException {
        String processor = Files.readString(Path.of("/proc/cpuinfo"));
        boolean instructions = processor.contains(" sha_ni") && processor.contains(" sse4_1");
        assertThat(ChainHash.available()).isEqualTo(NativeBridge.available() && instructions);
    }

    /** Each size from the least to four hash blocks and the largest; counts that need several copies out of the Java heap. */
    @Test
    void chain_eachBlockSize_equalsTheJdks() throws Exception {
        assumeTrue(ChainHash.available(), "no SHA-256 instructions or no bridge");
        SplittableRandom random = new SplittableRandom(7);
        for (int blockTokens = ChainHash.MIN_BLOCK_TOKENS; blockTokens <= 70; blockTokens++) {
            check(random, blockTokens, 5);
        }
        check(random, 16, 700);
        check(random, 5, 600);
        check(random, ChainHash.MAX_BLOCK_TOKENS - 1, 3);
        check(random, ChainHash.MAX_BLOCK_TOKENS, 3);
    }

    private static void check(SplittableRandom random, int blockTokens, int blocks) throws Exception {
        int offset = random.nextInt(5);
        int[] tokens = random.ints((long) blocks * blockTokens + offset).toArray();
        long[] parent = random.longs(ChainHash.LONGS).toArray();
        long[] digests = new long[ChainHash.LONGS * blocks + 1];
        digests[digests.length - 1] = 42;
        ChainHash.chain(parent[0], parent[1], parent[2], parent[3], tokens, offset, blockTokens, blocks, digests);
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        byte[] key = ByteBuffer.allocate(32)
                .putLong(parent[0])
                .putLong(parent[1])
                .putLong(parent[2])
                .putLong(parent[3])
                .array();
        for (int block = 0; block < blocks; block++) {
            ByteBuffer message =
                    ByteBuffer.allocate(5 + 32 + 5 + 4 * blockTokens).order(ByteOrder.LITTLE_ENDIAN);
            message.put((byte) 0x30).putInt(32).put(key).put((byte) 0x31).putInt(4 * blockTokens);
            for (int i = 0; i < blockTokens; i++) {
                message.putInt(tokens[offset + block * blockTokens + i]);
            }
            key = sha256.digest(message.array());
            for (int word = 0; word < ChainHash.LONGS; word++) {
                assertThat(digests[ChainHash.LONGS * block + word])
                        .as("block %d of %d tokens, word %d", block, blockTokens, word)
                        .isEqualTo(ByteBuffer.wrap(key).getLong(8 * word));
            }
        }
        assertThat(digests[digests.length - 1]).isEqualTo(42);
    }

    @Test
    void chain_argumentsOutOfRange_areRefused() {
        assumeTrue(ChainHash.available(), "no SHA-256 instructions or no bridge");
        refused(new int[16], 0, 1, 1, new long[4], "blockTokens: 1 (expected: 2..4096)");
        refused(new int[5000], 0, 4097, 1, new long[4], "blockTokens: 4097 (expected: 2..4096)");
        refused(new int[31], 0, 16, 2, new long[8], "blocks: 2 from token 0 (expected: within 31 tokens)");
        refused(new int[32], 1, 16, 2, new long[8], "blocks: 2 from token 1 (expected: within 32 tokens)");
        refused(new int[32], -1, 16, 1, new long[8], "blocks: 1 from token -1 (expected: within 32 tokens)");
        refused(new int[32], 0, 16, -1, new long[8], "blocks: -1 from token 0 (expected: within 32 tokens)");
        refused(
                new int[32],
                0,
                16,
                1 << 28,
                new long[8],
                "blocks: 268435456 from token 0 (expected: within 32 tokens)");
        refused(new int[32], 0, 16, 2, new long[7], "digests: 7 (expected: at least 4 longs a block)");
    }

    private static void refused(int[] tokens, int offset, int blockTokens, int blocks, long[] digests, String message) {
        assertThatThrownBy(() -> ChainHash.chain(1, 2, 3, 4, tokens, offset, blockTokens, blocks, digests))
                .isInstanceOf(MooncakeException.class)
                .hasMessage(message);
    }
}
