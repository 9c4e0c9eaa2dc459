// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.HugePageMount;
import io.mooncake.natives.NativeBridge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory that peers map on a mount of hugetlbfs. Needs root; says so loudly where it is refused. */
final class ShmHugePageTest {
    private static final int SIZE = 3 << 20;

    @TempDir
    Path folder;

    @Test
    void readAndWrite_memoryOfHugePages_goBySharedMemory() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        TransferEngineConfig config = TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET);
        // Two pages for each memory, one for what each engine says about it.
        try (HugePageMount mount = HugePageMount.mount(folder, 6, true)) {
            try (Memory theirs = new Memory(SIZE, folder);
                    Memory ours = new Memory(SIZE, folder);
                    TransferEngine owner = TransferEngine.start(config);
                    TransferEngine reader = TransferEngine.start(config)) {
                int region = theirs.register(owner);
                ours.register(reader);
                TestLeases leases = new TestLeases(theirs, region);
                owner.serveLeases(leases);
                assertThat(reader.path(owner.address(), soon()))
                        .isEqualTo(new PathReport(PathReport.Kind.SHARED_MEMORY, PathReport.Kind.SHARED_MEMORY, ""));
                leases.put(1, 0, SIZE, SIZE / 4);
                read(reader, owner.address(), ours);
                write(owner, reader, region, theirs, ours);
                assertThat(reader.statistics().readShm()).isEqualTo(SIZE);
                assertThat(reader.statistics().writtenShm()).isEqualTo(SIZE);
            }
            awaitEmpty();
        }
    }

    /** The threads that serve writes let go of the pages a moment after their engine has closed. */
    private void awaitEmpty() throws IOException, InterruptedException {
        long until = System.nanoTime() + 10_000_000_000L;
        while (System.nanoTime() - until < 0) {
            try (Stream<Path> left = Files.list(folder)) {
                if (left.findAny().isEmpty()) {
                    return;
                }
            }
            Thread.sleep(20);
        }
        assertThat(folder).isEmptyDirectory();
    }

    private static void read(TransferEngine reader, PeerAddress owner, Memory ours) {
        try (RemoteLease lease =
                reader.lease(owner, "pool", List.of(TestLeases.key(1)), Duration.ofSeconds(9), soon())) {
            assertThat(reader.read(lease, List.of(new TransferEngine.ReadRequest(0, ours.address)), soon()))
                    .containsExactly(TransferStatus.COMPLETED);
        }
        assertThat(ours.holds(1, 0, SIZE)).isTrue();
    }

    private static void write(TransferEngine owner, TransferEngine from, int region, Memory theirs, Memory ours) {
        ours.fill(2, 0, SIZE);
        RemoteHandle handle = owner.issueHandle(from.incarnation(), region, 1, 0, SIZE, true, Duration.ofSeconds(9));
        assertThat(from.batchTransferSyncWrite(
                        owner.address(),
                        new long[] {ours.address},
                        new RemoteHandle[] {handle},
                        new long[] {SIZE},
                        soon()))
                .containsExactly(TransferStatus.COMPLETED);
        assertThat(theirs.holds(2, 0, SIZE)).isTrue();
    }
}
