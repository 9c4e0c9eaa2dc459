// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** This machine, and trees laid out as the kernel lays out those of a machine with two sockets, four cards and two GPUs. */
final class TopologyTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    private Path sysfs;

    @Test
    void read_thisMachine_hasNodesAndNoLoopback() {
        Topology topology = Topology.read();
        assertThat(topology.numaNodes()).isNotEmpty();
        assertThat(topology.nics()).extracting(Nic::name).doesNotContain("lo");
        assertThat(topology.rails()).extracting(RailPreference::location).contains("cpu:0");
        assertThat(topology.nics())
                .extracting(Nic::name)
                .containsAll(topology.rails("cpu:0").preferred());
    }

    @Test
    void rails_twoSocketMachine_areTheNearestOnes() throws IOException {
        bigMachine();
        Topology topology = Topology.read(sysfs);
        assertThat(topology.rails("cpu:0").preferred()).containsExactly("mlx5_0", "mlx5_1");
        assertThat(topology.rails("cpu:0").secondary()).containsExactly("mlx5_2");
        assertThat(topology.rails("cpu:0").proximity()).isEqualTo(Proximity.NUMA_NODE);
        assertThat(topology.rails("cpu:1").preferred()).containsExactly("mlx5_2");
        assertThat(topology.rails("cpu:1").secondary()).containsExactly("mlx5_0", "mlx5_1");
        // Behind one switch with mlx5_1; mlx5_0 is at the same root complex of another switch.
        assertThat(topology.rails("gpu:0").preferred()).containsExactly("mlx5_1");
        assertThat(topology.rails("gpu:0").proximity()).isEqualTo(Proximity.SWITCH);
        assertThat(topology.rails("gpu:0").secondary()).containsExactly("mlx5_0", "mlx5_2");
        assertThat(topology.rails("gpu:1").preferred()).containsExactly("mlx5_2");
        assertThat(topology.rails("gpu:1").proximity()).isEqualTo(Proximity.NUMA_NODE);
        assertThat(topology.gpus()).extracting(Gpu::pciAddress).containsExactly("0000:05:00.0", "0000:85:00.0");
    }

    @Test
    void gpuLocation_busAddress_isThatOfItsRails() throws IOException {
        bigMachine();
        Topology topology = Topology.read(sysfs);
        assertThat(topology.gpuLocation("0000:85:00.0")).contains("gpu:1");
        assertThat(topology.gpuLocation("0000:04:00.0")).as("a card").isEmpty();
    }

    @Test
    void preferred_someInterfaces_areThoseThatTheLocationsPrefer() throws IOException {
        bigMachine();
        Topology topology = Topology.read(sysfs);
        List<String> devices = List.of("mlx5_0", "mlx5_1", "mlx5_2");
        assertThat(topology.preferred(List.of("cpu:0"), devices)).isEqualTo(0b011);
        assertThat(topology.preferred(List.of("cpu:1"), devices)).isEqualTo(0b100);
        assertThat(topology.preferred(List.of("gpu:0"), devices)).isEqualTo(0b010);
        assertThat(topology.preferred(List.of("gpu:0", "cpu:1"), devices)).isEqualTo(0b110);
        // A card's Ethernet interface is as near as its RDMA device.
        ethernet("eth0", "pci0000:00/0000:00:01.0/0000:02:00.0");
        ethernet("eth2", "pci0000:80/0000:80:01.0/0000:82:00.0");
        Topology cards = Topology.read(sysfs);
        assertThat(cards.preferred(List.of("cpu:0"), List.of("eth2", "eth0"))).isEqualTo(0b10);
        assertThat(cards.preferred(List.of("cpu:1"), List.of("eth2", "eth0"))).isEqualTo(0b01);
        // None of them, nowhere, unknown places and unknown interfaces: no preference.
        assertThat(topology.preferred(List.of("cpu:1"), List.of("mlx5_0", "mlx5_1")))
                .isEqualTo(Topology.ALL);
        assertThat(topology.preferred(List.of(), devices)).isEqualTo(Topology.ALL);
        assertThat(topology.preferred(List.of("cpu:9"), devices)).isEqualTo(Topology.ALL);
        assertThat(topology.preferred(List.of("cpu:0"), List.of("", "eth9"))).isEqualTo(Topology.ALL);
        assertThat(topology.preferred(List.of("cpu:0"), List.of())).isEqualTo(Topology.ALL);
    }

    @Test
    void rails_portDownOrForManagement_isNone() throws IOException {
        bigMachine();
        Topology topology = Topology.read(sysfs);
        assertThat(topology.nics()).extracting(Nic::name).contains("mlx5_3", "mlx5_4");
        for (RailPreference rails : topology.rails()) {
            // Its port is down; the other one has a hundredth of the speed.
            assertThat(rails.preferred()).doesNotContain("mlx5_3", "mlx5_4");
            assertThat(rails.secondary()).doesNotContain("mlx5_3", "mlx5_4");
        }
    }

    @Test
    void withOverrides_aLocationNamed_isReplacedAndTheOthersStay() throws IOException {
        bigMachine();
        Path file = Files.writeString(sysfs.resolve("rails"), "# ours\n\ncpu:0 = mlx5_2 | mlx5_0, mlx5_1 # far\n");
        Topology topology = Topology.read(sysfs);
        Topology said = topology.withOverrides(file);
        assertThat(said.rails("cpu:0").preferred()).containsExactly("mlx5_2");
        assertThat(said.rails("cpu:0").secondary()).containsExactly("mlx5_0", "mlx5_1");
        assertThat(said.rails("cpu:0").overridden()).isTrue();
        assertThat(said.rails("gpu:0")).isEqualTo(topology.rails("gpu:0"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cpu:7 = mlx5_0",
                "cpu:0 = mlx5_9",
                "cpu:0 mlx5_0",
                "cpu:0 = mlx5_0 | mlx5_1 | mlx5_2",
                "cpu:0 = | mlx5_0",
                "cpu:0 = mlx5_0, mlx5_0",
                "cpu:0 = mlx5_0\ncpu:0 = mlx5_1"
            })
    void withOverrides_wrongLine_isRefusedWithItsPlace(String text) throws IOException {
        bigMachine();
        Path file = Files.writeString(sysfs.resolve("rails"), text);
        assertThatThrownBy(() -> Topology.read(sysfs).withOverrides(file))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining(file + ":" + text.lines().count())
                .hasMessageContaining("expected")
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CONFIGURATION);
    }

    @Test
    void preferredBy_processOnOneNode_isThatNodesRails() throws IOException {
        bigMachine();
        Topology topology = Topology.read(sysfs);
        assertThat(topology.preferredBy(CpuNodes.allowed(topology.numaNodes(), "40-47")))
                .containsExactly("mlx5_2");
        assertThat(topology.preferredBy(CpuNodes.allowed(topology.numaNodes(), "0-3,8")))
                .containsExactly("mlx5_0", "mlx5_1");
        assertThat(topology.preferredBy(CpuNodes.allowed(topology.numaNodes(), "0-63")))
                .containsExactly("mlx5_0", "mlx5_1", "mlx5_2");
        assertThat(CpuNodes.allowed(topology.numaNodes(), "")).containsExactly("cpu:0", "cpu:1");
        assertThat(CpuNodes.allowed(topology.numaNodes(), "x,-1,9-3")).containsExactly("cpu:0", "cpu:1");
        assertThat(Topology.read().nics())
                .extracting(Nic::name)
                .containsAll(Topology.configured().ownRails(List.of()));
    }

    @Test
    void rails_unknownLocation_isRefusedWithTheKnownOnes() throws IOException {
        bigMachine();
        assertThatThrownBy(() -> Topology.read(sysfs).rails("gpu:2"))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("gpu:2")
                .hasMessageContaining("cpu:0, cpu:1, gpu:0, gpu:1");
    }

    @Test
    void read_nothingThere_isOneNodeWithoutRails() {
        Topology topology = Topology.read(sysfs);
        assertThat(topology.numaNodes()).hasSize(1);
        assertThat(topology.nics()).isEmpty();
        assertThat(topology.rails("cpu:0").preferred()).isEmpty();
        assertThat(topology.rails("cpu:0").proximity()).isEqualTo(Proximity.UNKNOWN);
    }

    private void bigMachine() throws IOException {
        node(0, "0-31", "10 21");
        node(1, "32-63", "21 10");
        // Socket 0: two switches with a card each, a GPU behind the second, a card for management.
        card("mlx5_0", "pci0000:00/0000:00:01.0/0000:02:00.0", 0, "4: ACTIVE", "400 Gb/sec (4X NDR)");
        card("mlx5_1", "pci0000:00/0000:00:02.0/0000:04:00.0", 0, "4: ACTIVE", "400 Gb/sec (4X NDR)");
        card("mlx5_4", "pci0000:00/0000:00:03.0/0000:07:00.0", 0, "4: ACTIVE", "4 Gb/sec (1X QDR)");
        gpu("pci0000:00/0000:00:02.0/0000:05:00.0", 0);
        // Socket 1: two cards, one with its port down, and a GPU at another root complex.
        card("mlx5_2", "pci0000:80/0000:80:01.0/0000:82:00.0", 1, "4: ACTIVE", "400 Gb/sec (4X NDR)");
        card("mlx5_3", "pci0000:80/0000:80:02.0/0000:84:00.0", 1, "1: DOWN", "400 Gb/sec (4X NDR)");
        gpu("pci0000:84/0000:84:01.0/0000:85:00.0", 1);
    }

    private void node(int id, String cpus, String distances) throws IOException {
        Path node = sysfs.resolve("devices/system/node/node" + id);
        write(node.resolve("cpulist"), cpus);
        write(node.resolve("distance"), distances);
    }

    private void card(String name, String pci, int node, String state, String rate) throws IOException {
        Path device = sysfs.resolve("devices").resolve(pci);
        write(device.resolve("numa_node"), String.valueOf(node));
        Path rdma = device.resolve("infiniband").resolve(name);
        write(rdma.resolve("ports/1/state"), state);
        write(rdma.resolve("ports/1/rate"), rate);
        Files.createSymbolicLink(rdma.resolve("device"), device);
        Path classes = Files.createDirectories(sysfs.resolve("class/infiniband"));
        Files.createSymbolicLink(classes.resolve(name), rdma);
    }

    /** The network interface of a card. */
    private void ethernet(String name, String pci) throws IOException {
        Path entry = sysfs.resolve("class/net").resolve(name);
        write(entry.resolve("type"), "1");
        write(entry.resolve("operstate"), "up");
        Files.createSymbolicLink(
                entry.resolve("device"), sysfs.resolve("devices").resolve(pci));
    }

    private void gpu(String pci, int node) throws IOException {
        Path device = sysfs.resolve("devices").resolve(pci);
        write(device.resolve("numa_node"), String.valueOf(node));
        write(device.resolve("vendor"), "0x10de");
        write(device.resolve("class"), "0x030200");
        Path bus = Files.createDirectories(sysfs.resolve("bus/pci/devices"));
        List<String> path = List.of(pci.split("/"));
        Files.createSymbolicLink(bus.resolve(path.get(path.size() - 1)), device);
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }
}
