// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** RDMA between two processes, one of which is killed or stopped. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaFaultOnDevice {
    private static final int ELEMENTS = 8;
    private static final int PORT = 47_000;
    private static final int PORTS_END = 47_600;

    private final Memory memory = new Memory(ELEMENTS * OwnerProcess.BLOCK);
    private TransferEngine reader;

    @BeforeEach
    void start() {
        reader = TransferEngine.start(RdmaTransferOnDevice.config());
        reader.registerMemory(memory.address, memory.length, memory.guard());
    }

    @AfterEach
    void stop() {
        reader.close();
        assertThat(memory.canariesIntact()).isTrue();
        memory.close();
    }

    private OwnerProcess owner() throws Exception {
        return OwnerProcess.start(reader.incarnation(), PORT, PORTS_END, "rdma");
    }

    private TransferStatus[] readAll(RemoteLease lease, Deadline deadline) {
        List<TransferEngine.ReadRequest> requests = new ArrayList<>();
        for (int i = 0; i < lease.size(); i++) {
            requests.add(new TransferEngine.ReadRequest(i, memory.address + (long) i * OwnerProcess.BLOCK));
        }
        return reader.read(lease, requests, deadline);
    }

    private RemoteLease lease(PeerAddress owner, Duration term) {
        List<byte[]> keys = new ArrayList<>();
        for (int key = 0; key < ELEMENTS; key++) {
            keys.add(TestLeases.key(key));
        }
        return reader.lease(owner, "pool", keys, term, TransferContract.soon());
    }

    private void assertAllArrived(TransferStatus[] statuses) {
        assertThat(statuses).containsOnly(TransferStatus.COMPLETED);
        for (int key = 0; key < ELEMENTS; key++) {
            assertThat(memory.holds(key, key * OwnerProcess.BLOCK, OwnerProcess.BLOCK))
                    .isTrue();
        }
    }

    /** One owner for both faults, its next life in this process: a JVM takes long to start in the virtual machine. */
    @Test
    void read_ownerInAnotherProcessStoppedThenKilled_neverHangsAndNothingArrivesLater() throws Exception {
        RemoteLease lease;
        try (OwnerProcess owner = owner()) {
            readWhileStopped(owner);
            lease = lease(owner.address, Duration.ofSeconds(60));
            readUntilKilled(owner, lease);
        }
        assertNextLifeServesNoOldLease(lease);
    }

    private void readUntilKilled(OwnerProcess owner, RemoteLease lease) throws Exception {
        assertThat(readAll(lease, TransferContract.soon())).containsOnly(TransferStatus.COMPLETED);
        Thread killer = new Thread(() -> {
            try {
                Thread.sleep(30);
                owner.kill();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        killer.start();
        TransferStatus last = TransferStatus.COMPLETED;
        long began = System.nanoTime();
        while (last == TransferStatus.COMPLETED) {
            began = System.nanoTime();
            TransferStatus[] statuses = readAll(lease, Deadline.ofMillis(3000));
            for (TransferStatus status : statuses) {
                last = status == TransferStatus.COMPLETED ? last : status;
            }
        }
        long tookMillis = (System.nanoTime() - began) / 1_000_000;
        assertThat(tookMillis).isLessThan(20_000);
        assertThat(last).isIn(TransferStatus.PEER_UNREACHABLE, TransferStatus.TIMEOUT);
        killer.join();
        long before = memory.checksumOfAll();
        Thread.sleep(300);
        assertThat(memory.checksumOfAll()).isEqualTo(before);
    }

    /** An owner on the ports of the one that was killed. */
    private void assertNextLifeServesNoOldLease(RemoteLease old) {
        try (Memory its = new Memory(memory.length);
                TransferEngine again = TransferEngine.start(OwnerProcess.config(PORT, PORTS_END, "rdma"))) {
            OwnerProcess.serve(again, its);
            assertThat(again.address().dataPort()).isEqualTo(old.peer().dataPort());
            long before = memory.checksumOfAll();
            assertThat(readAll(old, Deadline.ofMillis(3000))).doesNotContain(TransferStatus.COMPLETED);
            assertThat(memory.checksumOfAll()).as("no byte of it").isEqualTo(before);
            try (RemoteLease fresh = lease(again.address(), Duration.ofSeconds(30))) {
                assertAllArrived(readAll(fresh, TransferContract.soon()));
            }
        }
    }

    /** The device goes on where the program has stopped, and the owner has given its word for the term. */
    private void readWhileStopped(OwnerProcess owner) throws Exception {
        try (RemoteLease lease = lease(owner.address, Duration.ofSeconds(30));
                RemoteLease brief = lease(owner.address, Duration.ofSeconds(5))) {
            assertAllArrived(readAll(lease, TransferContract.soon()));
            owner.signal("STOP");
            memory.fill(99, 0, memory.length);
            assertAllArrived(readAll(lease, TransferContract.soon()));
            long began = System.nanoTime();
            assertThat(rawRead(owner, Deadline.ofMillis(500))).isEqualTo(TransferStatus.TIMEOUT);
            assertThat((System.nanoTime() - began) / 1_000_000).isBetween(490L, 20_000L);
            TransferContract.await(brief::expired);
            assertThat(readAll(brief, TransferContract.soon())).containsOnly(TransferStatus.LEASE_EXPIRED);
            owner.signal("CONT");
            memory.fill(99, 0, memory.length);
            assertAllArrived(readAll(lease, TransferContract.soon()));
            assertThat(rawRead(owner, TransferContract.soon())).isEqualTo(TransferStatus.COMPLETED);
        }
    }

    private TransferStatus rawRead(OwnerProcess owner, Deadline deadline) {
        return reader.batchTransferSyncRead(
                        owner.address,
                        new long[] {memory.address},
                        new RemoteHandle[] {owner.handle},
                        new long[] {8},
                        deadline)[0];
    }
}
