// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.PathReport.Kind;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Protocol auto where there is a device. Needs one, as {@link RdmaTransferOnDevice}. */
final class RdmaPathsOnDevice {
    private static final int SIZE = 4 << 20;

    @TempDir
    Path folder;

    private final Memory ours = new Memory(SIZE);
    private TransferEngine owner;
    private TransferEngine reader;

    @AfterEach
    void stop() {
        reader.close();
        owner.close();
        ours.close();
    }

    private void start(TransferProtocol owners) {
        owner = engine(owners);
        reader = engine(TransferProtocol.AUTO);
        ours.register(reader);
    }

    private static TransferEngine engine(TransferProtocol protocol) {
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .protocol(protocol)
                .build());
    }

    /** The machine may be an emulated one on a busy host. */
    private PathReport path() {
        return reader.path(owner.address(), Deadline.ofMillis(120_000));
    }

    private TransferStatus move(boolean write, int region) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, write, Duration.ofSeconds(60))
        };
        long[] addresses = {ours.address};
        long[] sizes = {SIZE};
        Deadline patient = Deadline.ofMillis(50_000);
        return write
                ? reader.batchTransferSyncWrite(owner.address(), addresses, handles, sizes, patient)[0]
                : reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, patient)[0];
    }

    @Test
    void auto_bothHaveDevices_goesByRdma() {
        try (Memory theirs = new Memory(SIZE)) {
            start(TransferProtocol.AUTO);
            int region = theirs.register(owner);
            theirs.fill(1, 0, SIZE);
            PathReport report = path();
            assertThat(report.reads()).as(report.reason()).isEqualTo(Kind.RDMA);
            assertThat(report.writes()).isEqualTo(Kind.RDMA);
            assertThat(report.over()).isNotEmpty();
            assertThat(move(false, region)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(ours.holds(1, 0, SIZE)).isTrue();
            assertThat(move(true, region)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
            assertThat(reader.statistics().writtenRdma()).isEqualTo(SIZE);
            assertThat(reader.statistics().bytesRead()).isEqualTo(SIZE);
        }
    }

    @Test
    void auto_peerWithoutDevice_goesByTcpAndSaysWhy() {
        try (Memory theirs = new Memory(SIZE)) {
            start(TransferProtocol.TCP);
            int region = theirs.register(owner);
            theirs.fill(2, 0, SIZE);
            assertThat(move(false, region)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(ours.holds(2, 0, SIZE)).isTrue();
            assertThat(reader.statistics().readTcp()).isEqualTo(SIZE);
            PathReport report = path();
            assertThat(report.reads()).isEqualTo(Kind.TCP);
            assertThat(report.reason()).contains("mooncake.rdma.connect");
        }
    }

    @Test
    void rdma_peerWithoutDevice_isUnreachable() {
        try (Memory theirs = new Memory(SIZE)) {
            owner = engine(TransferProtocol.TCP);
            reader = engine(TransferProtocol.RDMA);
            ours.register(reader);
            assertThat(move(false, theirs.register(owner))).isEqualTo(TransferStatus.PEER_UNREACHABLE);
        }
    }

    @Test
    void auto_memoryShared_readsInPlaceAndWritesByRdma() {
        try (Memory theirs = new Memory(SIZE, SharedFile.DEFAULT_FOLDER)) {
            start(TransferProtocol.AUTO);
            int region = theirs.register(owner);
            theirs.fill(3, 0, SIZE);
            PathReport report = path();
            assertThat(report.reads()).as(report.reason()).isEqualTo(Kind.SHARED_MEMORY);
            assertThat(move(false, region)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(ours.holds(3, 0, SIZE)).isTrue();
            assertThat(reader.statistics().readShm()).isEqualTo(SIZE);
            ours.fill(4, 0, SIZE);
            // Our own memory is not shared, so the owner can't take it from there.
            assertThat(move(true, region)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(theirs.holds(4, 0, SIZE)).isTrue();
            assertThat(reader.statistics().writtenRdma()).isEqualTo(SIZE);
        }
    }

    @Test
    void auto_memoryThatTheDeviceRefuses_goesByTcpAloneAndTheNextByRdma() throws Exception {
        Path file = folder.resolve("readonly");
        byte[] bytes = new byte[SIZE];
        java.util.Arrays.fill(bytes, (byte) 9);
        Files.write(file, bytes);
        try (FileChannel channel = FileChannel.open(file);
                Memory theirs = new Memory(SIZE)) {
            // The device wants to write to what it registers.
            MappedByteBuffer readOnly = channel.map(FileChannel.MapMode.READ_ONLY, 0, SIZE);
            start(TransferProtocol.AUTO);
            int refused = owner.registerMemory(addressOf(readOnly), SIZE, (offset, length, generation) -> true);
            int taken = theirs.register(owner);
            assertThat(move(false, refused)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(ours.uniform()).isTrue();
            assertThat(reader.statistics().readTcp()).isEqualTo(SIZE);
            assertThat(owner.statistics().requestsRefused()).isZero();
            assertThat(move(false, taken)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
            owner.unregisterMemory(refused);
            assertThat(readOnly.get(0)).isEqualTo((byte) 9);
        }
    }

    private static long addressOf(MappedByteBuffer buffer) throws ReflectiveOperationException {
        Field address = Buffer.class.getDeclaredField("address");
        address.setAccessible(true);
        return address.getLong(buffer);
    }
}
