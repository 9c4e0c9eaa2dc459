// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteLease;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferStatus;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import sun.misc.Unsafe;

/** Two JVMs that know nothing of each other but a name and where etcd is. */
class EtcdInitializeTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final String NAME = "127.0.0.1:47300";
    private static final String PROPERTY = "mooncake.secret";

    private static Deadline soon() {
        return Deadline.ofMillis(30_000);
    }

    private static byte read(TransferEngine engine, PeerAddress peer, long target) throws Exception {
        Unsafe unsafe = NamedEngineProcess.unsafe();
        try (RemoteLease lease = engine.lease(peer, "pool", List.of(new byte[] {1}), Duration.ofSeconds(10), soon())) {
            assertThat(engine.read(lease, List.of(new TransferEngine.ReadRequest(0, target)), soon()))
                    .containsExactly(TransferStatus.COMPLETED);
        }
        return unsafe.getByte(target + NamedEngineProcess.BLOCK - 1);
    }

    @Test
    void initialize_engineInAnotherJvm_isFoundReadAndFoundAgainAfterKill() throws Exception {
        String before = System.setProperty(PROPERTY, SECRET);
        long target = NamedEngineProcess.unsafe().allocateMemory(NamedEngineProcess.BLOCK);
        try (EtcdServers etcd = EtcdServers.of(1);
                TransferEngine engine = TransferEngine.initialize("127.0.0.1:47310", etcd.uri(), "tcp", "")) {
            engine.registerMemory(target, NamedEngineProcess.BLOCK, (offset, bytes, generation) -> true);
            PeerAddress first;
            try (NamedEngineProcess other = NamedEngineProcess.start(NAME, etcd.uri(), SECRET, 7)) {
                first = engine.peer(NAME, soon());
                assertThat(read(engine, first, target)).isEqualTo((byte) 7);
                other.kill();
            }
            // Its lease in etcd outlives it; the name leads to the new life nevertheless.
            try (NamedEngineProcess other = NamedEngineProcess.start(NAME, etcd.uri(), SECRET, 8)) {
                PeerAddress second = engine.peer(NAME, soon());
                assertThat(second.incarnation()).isNotEqualTo(first.incarnation());
                assertThat(read(engine, second, target)).isEqualTo((byte) 8);
                other.stop();
            }
            Deadline deadline = soon();
            while (engine.peers().size() > 1 && !deadline.expired()) {
                Thread.sleep(50);
            }
            assertThat(engine.peers())
                    .as("the record of who closed, and who was killed, is gone")
                    .hasSize(1);
            assertThatThrownBy(() -> engine.peer(NAME, Deadline.ofMillis(100))).hasMessageContaining(NAME);
        } finally {
            if (before == null) {
                System.clearProperty(PROPERTY);
            } else {
                System.setProperty(PROPERTY, before);
            }
            NamedEngineProcess.unsafe().freeMemory(target);
        }
    }

    @Test
    void initialize_etcdNotThere_startsAndIsPublishedLater() throws Exception {
        String before = System.setProperty(PROPERTY, SECRET);
        try (EtcdServers etcd = EtcdServers.of(1)) {
            etcd.killAll();
            try (TransferEngine early = TransferEngine.initialize("127.0.0.1:47320", etcd.uri(), "tcp", "")) {
                assertThat(early.path(early.address(), soon())).isNotNull();
                etcd.startAll();
                try (TransferEngine late = TransferEngine.initialize("127.0.0.1:47330", etcd.uri(), "tcp", "")) {
                    assertThat(late.peer("127.0.0.1:47320", soon())).isEqualTo(early.address());
                }
            }
        } finally {
            if (before == null) {
                System.clearProperty(PROPERTY);
            } else {
                System.setProperty(PROPERTY, before);
            }
        }
    }

    @Test
    void initialize_etcdAddressWithoutPort_isNamed() {
        String before = System.setProperty(PROPERTY, SECRET);
        try {
            assertThatThrownBy(() -> TransferEngine.initialize("127.0.0.1", "etcd://somewhere", "tcp", ""))
                    .hasMessageContaining("etcd address: somewhere (expected: host:port");
        } finally {
            if (before == null) {
                System.clearProperty(PROPERTY);
            } else {
                System.setProperty(PROPERTY, before);
            }
        }
    }
}
