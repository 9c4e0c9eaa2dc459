// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Shared files on a mount of hugetlbfs. Needs root; says so loudly where it is refused. */
final class HugePageFileTest {
    private static final int PAGE = HugePageMount.PAGE_BYTES;

    @TempDir
    Path folder;

    @BeforeEach
    void needsBridge() {
        assumeTrue(NativeBridge.available(), "native bridge");
    }

    @Test
    void create_oddLength_isWholePagesAndMappableByOthers() throws Exception {
        try (HugePageMount mount = HugePageMount.mount(folder, 4, true)) {
            assertThat(SharedFile.obstacle(folder, PAGE)).isEmpty();
            try (SharedFile own = SharedFile.create(folder, PAGE + 1);
                    SharedFile seen = SharedFile.open(own.path(), own.device(), own.inode())) {
                assertThat(own.bytes()).isEqualTo(2 * PAGE);
                assertThat(seen.bytes()).isEqualTo(2 * PAGE);
                assertThat(own.address() % PAGE).isZero();
                assertThat(seen.ownerAlive()).isTrue();
                own.populate();
                seen.populate();
                own.wake(0);
                seen.awaitChange(PAGE, 1, 1_000_000);
                assertThat(SharedFile.removeOrphans(folder)).isZero();
            }
            try (Stream<Path> left = Files.list(folder)) {
                assertThat(left).isEmpty();
            }
            // All pages are back.
            SharedFile.create(folder, 4 * PAGE).close();
        }
    }

    @Test
    void create_morePagesThanTheMountHas_isExhaustedAndSaysWhatThereIs() throws Exception {
        try (HugePageMount mount = HugePageMount.mount(folder, 2, true)) {
            assertThatThrownBy(() -> SharedFile.create(folder, 2 * PAGE + 1))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("no room")
                    .hasMessageContaining("huge pages of 2097152 bytes are free")
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.EXHAUSTED);
            SharedFile.create(folder, 2 * PAGE).close();
        }
    }

    /** A mount without a limit promises everything; what counts is the machine's pool. */
    @Test
    void create_morePagesThanThePoolHas_isExhaustedAndNoSignalComesLater() throws Exception {
        try (HugePageMount mount = HugePageMount.mount(folder, 2, false)) {
            assertThatThrownBy(() -> SharedFile.create(folder, 1L << 40))
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.EXHAUSTED);
            try (Stream<Path> left = Files.list(folder)) {
                assertThat(left).isEmpty();
            }
        }
    }
}
