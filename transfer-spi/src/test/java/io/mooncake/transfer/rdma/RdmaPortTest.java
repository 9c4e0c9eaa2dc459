// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.VerbsDevice.Gid;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RdmaPortTest {
    private static Gid gid(int index, String address, String type) throws UnknownHostException {
        byte[] bytes = InetAddress.getByName(address).getAddress();
        if (bytes.length == 4) {
            byte[] mapped = new byte[16];
            mapped[10] = -1;
            mapped[11] = -1;
            System.arraycopy(bytes, 0, mapped, 12, 4);
            bytes = mapped;
        }
        return new Gid(index, bytes, type);
    }

    @Test
    void choose_ethernetCard_prefersRoce2ThenIpv4ThenRoutable() throws UnknownHostException {
        List<Gid> byRank = new ArrayList<>(List.of(
                gid(5, "10.1.2.3", "RoCE v2"),
                gid(7, "10.9.9.9", "RoCE v2"),
                gid(3, "fd99::1", "RoCE v2"),
                gid(1, "fe80::1", "RoCE v2"),
                gid(4, "10.1.2.3", "IB/RoCE v1")));
        while (!byRank.isEmpty()) {
            List<Gid> shown = new ArrayList<>(byRank);
            Collections.reverse(shown);
            assertThat(RdmaPort.choose(shown, -1, "card").index())
                    .isEqualTo(byRank.get(0).index());
            byRank.remove(0);
        }
    }

    @Test
    void choose_infiniBand_takesThePortsOwn() throws UnknownHostException {
        assertThat(RdmaPort.choose(List.of(gid(0, "fe80::1", "IB/RoCE v1")), -1, "card")
                        .index())
                .isZero();
    }

    @Test
    void choose_configuredIndex_isTakenOrRefused() throws UnknownHostException {
        List<Gid> gids = List.of(gid(0, "fe80::1", "RoCE v2"), gid(1, "10.1.2.3", "RoCE v2"));
        assertThat(RdmaPort.choose(gids, 0, "card").index()).isZero();
        assertThatThrownBy(() -> RdmaPort.choose(gids, 3, "card"))
                .isInstanceOf(MooncakeException.class)
                .hasMessage("card: gidIndex 3 is empty (expected: one of [0, 1])");
        assertThatThrownBy(() -> RdmaPort.choose(List.of(), -1, "card")).isInstanceOf(MooncakeException.class);
    }

    @Test
    void config_outOfRange_reportsAllAtOnce() {
        assertThatThrownBy(() -> new RdmaConfig(List.of("a", "a"), 0, -2, 1, 7, 0))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContainingAll(
                        "devices: [a, a]",
                        "port: 0",
                        "gidIndex: -2",
                        "registrationBytes: 1",
                        "timeoutCode: 7",
                        "retries: 0");
    }
}
