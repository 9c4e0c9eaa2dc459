// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import io.mooncake.natives.Verbs;
import io.mooncake.transfer.PathReport.Kind;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which way each protocol takes to a peer that shares its memory, on a machine without RDMA. */
final class PathsTest {
    private static final int SIZE = 1 << 20;

    private Memory theirs;
    private Memory ours;
    private TransferEngine owner;
    private TransferEngine reader;

    @BeforeEach
    void needsBridge() {
        assumeTrue(NativeBridge.available(), "native bridge");
        theirs = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
        ours = new Memory(SIZE, SharedFile.DEFAULT_FOLDER);
    }

    @AfterEach
    void stop() {
        if (reader != null) {
            reader.close();
            owner.close();
        }
        theirs.close();
        ours.close();
    }

    private static TransferEngine engine(TransferProtocol protocol) {
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(protocol)
                .build());
    }

    /** Reads all of the owner's memory and says how it went. */
    private PathReport read(TransferProtocol readers, TransferProtocol owners) {
        owner = engine(owners);
        reader = engine(readers);
        int region = theirs.register(owner);
        ours.register(reader);
        theirs.fill(3, 0, SIZE);
        PathReport report = reader.path(owner.address(), soon());
        RemoteHandle handle =
                owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, false, Duration.ofSeconds(20));
        TransferStatus[] statuses = new TransferStatus[1];
        reader.batchTransferSyncRead(
                owner.address(),
                new long[] {ours.address},
                new RemoteHandle[] {handle},
                new long[] {SIZE},
                statuses,
                System.nanoTime() + 20_000_000_000L);
        assertThat(statuses).containsExactly(TransferStatus.COMPLETED);
        assertThat(ours.holds(3, 0, SIZE)).isTrue();
        return report;
    }

    @Test
    void auto_sharedMemory_isMappedAndSaysWhyWritesAreNotByRdma() {
        PathReport report = read(TransferProtocol.AUTO, TransferProtocol.AUTO);
        assertThat(report.reads()).isEqualTo(Kind.SHARED_MEMORY);
        assertThat(reader.statistics().readShm()).isEqualTo(SIZE);
        assertThat(reader.statistics().bytesRead()).isEqualTo(SIZE);
    }

    @Test
    void auto_nothingShared_saysWhyNeitherOfTheBetterWays() {
        assumeTrue(Verbs.devices().isEmpty(), "no device");
        ours.close();
        theirs.close();
        ours = new Memory(SIZE);
        theirs = new Memory(SIZE);
        PathReport report = read(TransferProtocol.AUTO, TransferProtocol.AUTO);
        assertThat(report.reads()).isEqualTo(Kind.TCP);
        assertThat(report.writes()).isEqualTo(Kind.TCP);
        assertThat(report.reason()).contains("shares no memory").contains("RDMA: ");
        assertThat(reader.statistics().readTcp()).isEqualTo(SIZE);
    }

    @Test
    void shm_sharedMemory_isMapped() {
        PathReport report = read(TransferProtocol.SHM, TransferProtocol.TCP);
        assertThat(report.reads()).isEqualTo(Kind.SHARED_MEMORY);
        assertThat(reader.statistics().readShm()).isEqualTo(SIZE);
    }

    @Test
    void tcp_sharedMemory_isLeftAlone() {
        PathReport report = read(TransferProtocol.TCP, TransferProtocol.AUTO);
        assertThat(report).isEqualTo(new PathReport(Kind.TCP, Kind.TCP, ""));
        assertThat(reader.statistics().readTcp()).isEqualTo(SIZE);
        assertThat(reader.statistics().readShm()).isZero();
    }

    @Test
    void rdma_noDevice_doesNotStart() {
        assumeTrue(Verbs.devices().isEmpty(), "no device");
        assertThatThrownBy(() -> engine(TransferProtocol.RDMA))
                .hasMessageContaining("RDMA")
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CONFIGURATION);
    }
}
