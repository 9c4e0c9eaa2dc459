// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.EngineRecord;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Engines that are started by four texts and find each other by name. */
final class InitializeTest {
    private String before;

    @BeforeEach
    void setSecret() {
        before = System.setProperty(Initialization.SECRET_PROPERTY, TransferContract.SECRET);
    }

    @AfterEach
    void restoreSecret() {
        if (before == null) {
            System.clearProperty(Initialization.SECRET_PROPERTY);
        } else {
            System.setProperty(Initialization.SECRET_PROPERTY, before);
        }
    }

    private static TransferEngine initialize(String name) {
        return TransferEngine.initialize(name, "memory", "auto", "");
    }

    @Test
    void initialize_twoEngines_findEachOtherByNameAndMoveBytes() {
        try (Memory theirs = new Memory(1 << 20);
                Memory ours = new Memory(1 << 20);
                TransferEngine owner = initialize("127.0.0.1:47700");
                TransferEngine reader = initialize("localhost:47710")) {
            int region = theirs.register(owner);
            ours.register(reader);
            TestLeases leases = new TestLeases(theirs, region);
            leases.put(1, 0, 1 << 20, 1 << 16);
            owner.serveLeases(leases);
            PeerAddress found = reader.peer("127.0.0.1:47700", soon());
            assertThat(found).isEqualTo(owner.address());
            assertThat(found.dataPort()).isGreaterThanOrEqualTo(47_700);
            try (RemoteLease lease =
                    reader.lease(found, "pool", List.of(TestLeases.key(1)), Duration.ofSeconds(5), soon())) {
                assertThat(reader.read(lease, List.of(new TransferEngine.ReadRequest(0, ours.address)), soon()))
                        .containsExactly(TransferStatus.COMPLETED);
            }
            assertThat(ours.holds(1, 0, 1 << 20)).isTrue();
            assertThat(owner.peers())
                    .extracting(engine -> engine.attributes().get(EngineRecord.NAME))
                    .containsExactlyInAnyOrder("127.0.0.1:47700", "localhost:47710");
        }
    }

    @Test
    void close_engine_withdrawsItsRecord() {
        try (TransferEngine stays = initialize("127.0.0.1:47720")) {
            TransferEngine goes = initialize("127.0.0.1:47730");
            stays.peer("127.0.0.1:47730", soon());
            goes.close();
            goes.close();
            TransferContract.await(() -> stays.peers().size() == 1);
            assertThatThrownBy(() -> stays.peer("127.0.0.1:47730", Deadline.ofMillis(50)))
                    .hasMessageContaining("127.0.0.1:47730")
                    .hasMessageContaining("127.0.0.1:47720")
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.NOT_FOUND);
        }
    }

    private static boolean refusesPeer(TransferEngine asking, String name) {
        try {
            asking.peer(name, soon());
            return false;
        } catch (MooncakeException e) {
            return true;
        }
    }

    @Test
    void peer_twoLivingEnginesOfOneName_isRefusedAndOneThatIsLeftIsFound() {
        TransferEngine first = initialize("127.0.0.1");
        try (TransferEngine second = initialize("127.0.0.1");
                TransferEngine asking = initialize("127.0.0.1:47740")) {
            // Of one of them it may have heard earlier than of the other.
            TransferContract.await(() -> refusesPeer(asking, "127.0.0.1"));
            assertThatThrownBy(() -> asking.peer("127.0.0.1", soon()))
                    .hasMessageContaining("give each a port")
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT);
            first.close();
            assertThat(asking.peer("127.0.0.1", soon())).isEqualTo(second.address());
        }
    }

    @Test
    void peer_engineWithoutMetadata_isToldSo() {
        try (TransferEngine plain =
                TransferEngine.start(TransferEngineConfig.of("127.0.0.1", TransferContract.SECRET))) {
            assertThatThrownBy(() -> plain.peer("x", soon())).hasMessageContaining("TransferEngine.initialize");
            assertThatThrownBy(plain::peers).hasMessageContaining("TransferEngine.initialize");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''|memory|auto|''|localHostname: ",
                "::1|memory|auto|''|localHostname: ::1 (expected: host or host:port, an IPv6 address in brackets",
                "127.0.0.1:|memory|auto|''|localHostname: 127.0.0.1:",
                "127.0.0.1:65535|memory|auto|''|localHostname: 127.0.0.1:65535",
                "127.0.0.1:0|memory|auto|''|localHostname: 127.0.0.1:0",
                "0.0.0.0|memory|auto|''|localHostname: 0.0.0.0",
                "192.0.2.1|memory|auto|''|localHostname: 192.0.2.1",
                "no-such-host.invalid|memory|auto|''|localHostname: no-such-host.invalid",
                "127.0.0.1|zookeeper://a:1|auto|''|metadataServer: zookeeper://a:1 (expected: etcd://",
                "127.0.0.1|''|auto|''|metadataServer: ",
                "127.0.0.1|etcd://127.0.0.1:2379|auto|''|mooncake-transfer-etcd",
                "127.0.0.1|ignite|auto|''|mooncake-ignite-plugin",
                "127.0.0.1|memory|infiniband|''|protocol: infiniband (expected: auto, tcp, shm or rdma)",
                "127.0.0.1|memory|auto|nic9|deviceName: nic9 (expected: RDMA devices: ",
                "127.0.0.1|memory|tcp|mlx5_0|deviceName: mlx5_0 (expected: network interfaces: ",
                "127.0.0.1|memory|rdma|lo|deviceName: lo (expected: RDMA devices: ",
                "127.0.0.1|memory|tcp|lo,|deviceName: an empty name",
            })
    void initialize_badText_namesItAndWhatWasExpected(
            String host, String metadata, String protocol, String device, String message) {
        assertThatThrownBy(() -> TransferEngine.initialize(host, metadata, protocol, device))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining(message);
    }

    @Test
    void initialize_noSecret_namesBothPlaces() {
        System.clearProperty(Initialization.SECRET_PROPERTY);
        assertThatThrownBy(() -> initialize("127.0.0.1"))
                .hasMessageContaining("mooncake.secret")
                .hasMessageContaining("MOONCAKE_SECRET")
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CONFIGURATION);
        System.setProperty(Initialization.SECRET_PROPERTY, "short");
        assertThatThrownBy(() -> initialize("127.0.0.1")).hasMessageContaining("secret: 5 characters");
    }

    @Test
    void initialize_metadataWithPassword_isNotPrinted() {
        assertThatThrownBy(() -> TransferEngine.initialize("127.0.0.1", "consul://me:hunter22@a:1", "auto", ""))
                .hasMessageNotContaining("hunter22");
        assertThatThrownBy(() -> TransferEngine.initialize("127.0.0.1", "etcd://me:hunter22@a:1", "auto", ""))
                .hasMessageNotContaining("hunter22");
    }

    @Test
    void initialize_ipv6AndInterface_serves() {
        try (TransferEngine engine = TransferEngine.initialize("[::1]:47750", "memory", "tcp", "lo")) {
            assertThat(engine.address().host()).isEqualTo("::1");
            assertThat(engine.path(engine.address(), soon()).reads()).isEqualTo(PathReport.Kind.LOCAL);
        }
    }
}
