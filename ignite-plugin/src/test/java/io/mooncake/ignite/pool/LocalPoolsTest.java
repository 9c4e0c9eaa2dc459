// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import io.mooncake.natives.HugePageMount;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.LeaseSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalPoolsTest {
    @TempDir
    Path folder;

    @Test
    void create_sharedInADirectory_liesThereUntilItCloses() throws IOException {
        assumeTrue(NativeBridge.available(), "native bridge");
        try (LocalPools pools = new LocalPools(
                1 << 20, folder, false, "lru", List.of(TestGrid.pool("tiny").toDefinition()))) {
            assertThat(pools.byName()).containsKey("tiny");
            assertThat(pools.byName().get("tiny").evictionPolicy()).isEqualTo("lru");
            try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).singleElement().asString().endsWith(".mem");
            }
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void create_mountOfHugePages_liesThereWhereItHasRoomAndNothingElseWasNamed() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        int page = HugePageMount.PAGE_BYTES;
        try (HugePageMount mount = HugePageMount.mount(folder, 4, false)) {
            assertThat(filesInHugePages(3 * page, SharedFile.DEFAULT_FOLDER, true))
                    .isEqualTo(1);
            assertThat(filesInHugePages(3 * page, null, true))
                    .as("mapped by nobody")
                    .isEqualTo(1);
            assertThat(filesInHugePages(3 * page, SharedFile.DEFAULT_FOLDER, false))
                    .isZero();
            assertThat(filesInHugePages(1 << 20, SharedFile.DEFAULT_FOLDER, true))
                    .as("half a page would be wasted")
                    .isZero();
            assertThat(filesInHugePages(64 * page, SharedFile.DEFAULT_FOLDER, true))
                    .as("more than there is")
                    .isZero();
        }
    }

    private int filesInHugePages(long bytes, Path shared, boolean hugePages) throws IOException {
        try (LocalPools pools = new LocalPools(
                        bytes,
                        shared,
                        hugePages,
                        "lru",
                        List.of(TestGrid.pool("tiny").toDefinition()));
                Stream<Path> files = Files.list(folder)) {
            LocalKvPool pool = pools.byName().get("tiny");
            assertThat(TestBlocks.store(pool, TestBlocks.prompt(1, 40))).isPositive();
            return (int) files.count();
        }
    }

    @Test
    void pin_fenced_grantsNothingUntilItIsNoMore() {
        try (LocalPools pools = new LocalPools(
                1 << 20,
                null,
                false,
                LocalKvPool.DEFAULT_POLICY,
                List.of(TestGrid.pool("tiny").toDefinition()))) {
            LocalKvPool pool = pools.byName().get("tiny");
            int[] tokens = TestBlocks.prompt(1, 40);
            TestBlocks.store(pool, tokens);
            List<byte[]> keys = pool.chain(Tenant.DEFAULT, tokens).stream()
                    .map(BlockKey::toBytes)
                    .toList();
            AtomicBoolean fenced = new AtomicBoolean(true);
            pools.fencedBy(fenced::get);

            assertThat(pools.pin(UUID.randomUUID(), "tiny", keys)).hasSize(2).containsOnlyNulls();
            assertThat(pool.stats().openLeases()).isZero();
            assertThat(TestBlocks.take(pool, tokens).local())
                    .as("its own use goes on")
                    .isEqualTo(32);

            fenced.set(false);
            List<LeaseSource.Pin> pins = pools.pin(UUID.randomUUID(), "tiny", keys);
            assertThat(pins).hasSize(2).doesNotContainNull();
            pins.forEach(LeaseSource.Pin::close);
        }
    }

    @Test
    void pin_poolClosesBetweenTwoKeys_nothingStaysPinned() {
        try (LocalPools pools = new LocalPools(
                1 << 20,
                SharedFile.DEFAULT_FOLDER,
                true,
                LocalKvPool.DEFAULT_POLICY,
                List.of(TestGrid.pool("tiny").toDefinition()))) {
            LocalKvPool pool = pools.byName().get("tiny");
            int[] tokens = TestBlocks.prompt(1, 40);
            TestBlocks.store(pool, tokens);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            List<byte[]> keys = new AbstractList<>() {
                @Override
                public byte[] get(int index) {
                    if (index == 1) {
                        pool.close();
                    }
                    return chain.get(index).toBytes();
                }

                @Override
                public int size() {
                    return chain.size();
                }
            };

            assertThatThrownBy(() -> pools.pin(UUID.randomUUID(), "tiny", keys)).isInstanceOf(MooncakeException.class);

            assertThat(pool.stats().openLeases()).isZero();
        }
    }
}
