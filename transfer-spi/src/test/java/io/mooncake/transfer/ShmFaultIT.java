// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.mooncake.base.Deadline;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Owners of shared memory that die and stop, in a JVM of their own. */
final class ShmFaultIT {
    private static final int TOTAL = OwnerProcess.KEYS * OwnerProcess.BLOCK;

    private TransferEngine reader;
    private Memory memory;

    @BeforeEach
    void start() {
        assumeThat(NativeBridge.available()).as("native bridge").isTrue();
        SharedFile.removeOrphans(SharedFile.DEFAULT_FOLDER);
        memory = new Memory(TOTAL, SharedFile.DEFAULT_FOLDER);
        reader = TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", TransferContract.SECRET)
                .ports(48300, 48499)
                .build());
        memory.register(reader);
    }

    @AfterEach
    void stop() {
        if (reader != null) {
            reader.close();
            assertThat(memory.canariesIntact()).isTrue();
            memory.close();
        }
    }

    private OwnerProcess owner() throws IOException {
        return owner("shm");
    }

    private OwnerProcess owner(String transport) throws IOException {
        OwnerProcess owner = OwnerProcess.start(reader.incarnation(), 48500, 48699, transport);
        assertThat(reader.path(owner.address, Deadline.ofMillis(10_000)))
                .isEqualTo(new PathReport(PathReport.Kind.SHARED_MEMORY, PathReport.Kind.SHARED_MEMORY, ""));
        return owner;
    }

    private TransferStatus writeAll(OwnerProcess owner, int bytes, Deadline deadline) {
        return reader.batchTransferSyncWrite(
                        owner.address,
                        new long[] {memory.address},
                        new RemoteHandle[] {owner.handle},
                        new long[] {bytes},
                        deadline)[0];
    }

    private TransferStatus readBack(OwnerProcess owner, int target, int bytes) {
        return reader.batchTransferSyncRead(
                        owner.address,
                        new long[] {memory.address + target},
                        new RemoteHandle[] {owner.handle},
                        new long[] {bytes},
                        Deadline.ofMillis(5000))[0];
    }

    @Test
    void write_ownerStopped_timesOutInTimeAndNothingLateOverwritesWhatFollows() throws Exception {
        int bytes = 16 << 20;
        try (OwnerProcess owner = owner("shm-writable")) {
            int rounds = Boolean.getBoolean("mooncake.long") ? 100 : 5;
            for (int round = 0; round < rounds; round++) {
                memory.fill(1000 + round, 0, bytes);
                owner.signal("STOP");
                long start = System.nanoTime();
                assertThat(writeAll(owner, bytes, Deadline.ofMillis(300))).isEqualTo(TransferStatus.TIMEOUT);
                assertThat(System.nanoTime() - start).isBetween(290_000_000L, 1_300_000_000L);
                // Its memory may be used again: what is written next, and only that, must be there in the end.
                memory.fill(2000 + round, 0, bytes);
                assertThat(writeAll(owner, bytes, Deadline.ofMillis(50))).isEqualTo(TransferStatus.TIMEOUT);
                owner.signal("CONT");
                assertThat(writeAll(owner, bytes, Deadline.ofMillis(10_000))).isEqualTo(TransferStatus.COMPLETED);
                assertThat(readBack(owner, bytes, bytes)).isEqualTo(TransferStatus.COMPLETED);
                assertThat(memory.holds(2000 + round, bytes, bytes)).isTrue();
            }
        }
    }

    @Test
    void write_ownerKilledMeanwhile_endsTypedLongBeforeItsDeadline() throws Exception {
        int rounds = Boolean.getBoolean("mooncake.long") ? 50 : 3;
        for (int round = 0; round < rounds; round++) {
            try (OwnerProcess owner = owner("shm-writable")) {
                Thread killer = new Thread(() -> {
                    try {
                        Thread.sleep(30);
                        owner.kill();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
                killer.start();
                long start = System.nanoTime();
                TransferStatus status;
                do {
                    status = writeAll(owner, TOTAL, Deadline.ofMillis(20_000));
                } while (status == TransferStatus.COMPLETED);
                assertThat(status).isEqualTo(TransferStatus.PEER_UNREACHABLE);
                assertThat(System.nanoTime() - start).isLessThan(10_000_000_000L);
                killer.join();
            }
        }
    }

    private TransferStatus[] readEverything(OwnerProcess owner, Deadline deadline) {
        int count = OwnerProcess.KEYS;
        long[] targets = new long[count];
        long[] sizes = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        Arrays.setAll(targets, i -> memory.address + (long) i * OwnerProcess.BLOCK);
        Arrays.fill(sizes, OwnerProcess.BLOCK);
        Arrays.fill(handles, owner.handle);
        return reader.batchTransferSyncRead(owner.address, targets, handles, sizes, deadline);
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(SharedFile.DEFAULT_FOLDER)) {
            return all.filter(file -> file.getFileName().toString().startsWith("mooncake-"))
                    .toList();
        }
    }

    @Test
    void read_underLeaseFromOtherProcess_arrivesVerified() throws Exception {
        try (OwnerProcess owner = owner()) {
            List<byte[]> keys = new ArrayList<>();
            List<TransferEngine.ReadRequest> requests = new ArrayList<>();
            for (int i = 0; i < OwnerProcess.KEYS; i++) {
                keys.add(TestLeases.key(i));
                requests.add(new TransferEngine.ReadRequest(i, memory.address + (long) i * OwnerProcess.BLOCK));
            }
            try (RemoteLease lease =
                    reader.lease(owner.address, "pool", keys, Duration.ofSeconds(9), Deadline.ofMillis(10_000))) {
                // A stopped owner's program takes no part in it.
                owner.signal("STOP");
                assertThat(reader.read(lease, requests, Deadline.ofMillis(5000)))
                        .containsOnly(TransferStatus.COMPLETED);
                owner.signal("CONT");
            }
            for (int i = 0; i < OwnerProcess.KEYS; i++) {
                assertThat(memory.holds(i, i * OwnerProcess.BLOCK, OwnerProcess.BLOCK))
                        .isTrue();
            }
        }
    }

    @Test
    void read_ownerKilled_endsTypedAndLeavesNothingBehind() throws Exception {
        List<Path> foreign = files();
        int rounds = Boolean.getBoolean("mooncake.long") ? 50 : 3;
        for (int round = 0; round < rounds; round++) {
            try (OwnerProcess owner = owner()) {
                List<Path> now = new ArrayList<>(files());
                now.removeAll(foreign);
                assertThat(now).as("page and memory of this owner only").hasSize(2);
                assertThat(readEverything(owner, Deadline.ofMillis(5000))).containsOnly(TransferStatus.COMPLETED);
                owner.kill();
                long killedAt = System.nanoTime();
                TransferStatus[] statuses;
                do {
                    statuses = readEverything(owner, Deadline.ofMillis(2000));
                    assertThat(statuses).containsAnyOf(TransferStatus.COMPLETED, TransferStatus.PEER_UNREACHABLE);
                } while (statuses[0] == TransferStatus.COMPLETED);
                assertThat(statuses).containsOnly(TransferStatus.PEER_UNREACHABLE);
                assertThat(System.nanoTime() - killedAt).isLessThan(2_250_000_000L);
                long sum = memory.checksumOfAll();
                Thread.sleep(50);
                assertThat(memory.checksumOfAll()).isEqualTo(sum);
            }
        }
        SharedFile.removeOrphans(SharedFile.DEFAULT_FOLDER);
        List<Path> left = new ArrayList<>(files());
        left.removeAll(foreign);
        assertThat(left).isEmpty();
        assertThat(files()).containsAll(foreign);
    }
}
