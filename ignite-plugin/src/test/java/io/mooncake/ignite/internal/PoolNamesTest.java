// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Role;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Names of pools where nodes have several weights under one name. */
class PoolNamesTest {
    private static final String OLD = "modelDigest=1\n";
    private static final String NEW = "modelDigest=2\n";
    private static final Map<String, String> WITH_OLD = Map.of("m", OLD);
    private static final Map<String, String> WITH_NEW = Map.of("m", NEW);

    @Test
    void plainName_nodeHasOneOfThem_meansItsOwn() {
        PoolNames names = PoolNames.of(WITH_NEW, List.of(WITH_OLD, WITH_OLD, WITH_NEW));

        assertThat(names.id("m")).isEqualTo(PoolNames.id("m", NEW));
        assertThat(names.has(member(WITH_NEW), "m")).isTrue();
        assertThat(names.has(member(WITH_OLD), "m")).isFalse();
        assertThat(names.all()).containsExactlyInAnyOrder("m", PoolNames.id("m", OLD));
    }

    @Test
    void plainName_nodeHasNone_meansThatOfMostNodes() {
        PoolNames names = PoolNames.of(Map.of(), List.of(WITH_OLD, WITH_NEW, WITH_NEW));

        assertThat(names.id("m")).isEqualTo(PoolNames.id("m", NEW));
    }

    @Test
    void plainName_asManyNodesHaveEither_meansTheOlder() {
        PoolNames names = PoolNames.of(Map.of(), List.of(WITH_OLD, WITH_NEW, WITH_NEW, WITH_OLD));

        assertThat(names.id("m")).isEqualTo(PoolNames.id("m", OLD));
    }

    @Test
    void nameWithDigest_eitherPool_isUnderstoodEverywhere() {
        String id = PoolNames.id("m", OLD);
        assertThat(id).matches("m@[0-9a-f]{12}");
        for (Map<String, String> own : List.of(WITH_OLD, WITH_NEW, Map.<String, String>of())) {
            PoolNames names = PoolNames.of(own, List.of(WITH_NEW, WITH_OLD));
            assertThat(names.has(member(WITH_OLD), id)).isTrue();
            assertThat(names.has(member(WITH_NEW), id)).isFalse();
            assertThat(names.plain(id)).isEqualTo("m");
            assertThat(names.called(id)).isEqualTo(own == WITH_OLD ? "m" : id);
        }
    }

    @Test
    void unknownName_staysAndIsNobodys() {
        PoolNames names = PoolNames.of(WITH_OLD, List.of(WITH_OLD));

        assertThat(names.called("x")).isEqualTo("x");
        assertThat(names.known(PoolNames.id("m", NEW))).isFalse();
        assertThat(names.has(member(WITH_OLD), "x")).isFalse();
    }

    private static Member member(Map<String, String> pools) {
        UUID node = new UUID(1, 1);
        PeerAddress address = new PeerAddress(node, "127.0.0.1", 1, 2, 3);
        return new Member(node, "n", Role.STORE, address, pools, 1, false, Locality.UNKNOWN);
    }
}
