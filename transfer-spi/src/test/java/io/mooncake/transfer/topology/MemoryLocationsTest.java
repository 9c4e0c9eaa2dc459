// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What kernels write of machines with two nodes, and this machine. */
final class MemoryLocationsTest {
    private static final long MIB = 1 << 20;
    private static final long BASE = 0x7f0000000000L;
    private static final String MAPPINGS = String.join(
            "\n",
            "00400000 default file=/usr/bin/java mapped=1 N1=1 kernelpagesize_kB=4",
            "7f0000000000 default anon=512 dirty=512 N0=512 kernelpagesize_kB=4",
            "7f0000200000 default anon=512 dirty=512 N1=512 kernelpagesize_kB=4",
            "7f0000400000 bind:1",
            "7f0000600000 default",
            "7f0000800000 interleave:0-1 file=/anon_hugepage\\040(deleted) huge anon=8 dirty=8 N0=4 N1=4 kernelpagesize_kB=2048",
            "7f0002000000 default anon=10000 N0=9500 N1=500 kernelpagesize_kB=4",
            "7f0006000000 prefer (many):1 file=/a:0 mapped=0",
            "7f0006200000 weighted interleave:0-1",
            "7f0006400000 bind=static:1",
            "7f0006600000 default file=/a:1",
            "ffffffffff600000 default");

    private static List<Integer> nodes(long offset, long length) throws IOException {
        return MemoryLocations.nodes(new BufferedReader(new StringReader(MAPPINGS)), BASE + offset, length);
    }

    @Test
    void nodes_pagesOfOneMapping_areWhereTheyLie() throws IOException {
        assertThat(nodes(0, 2 * MIB)).containsExactly(0);
        assertThat(nodes(MIB, 4096)).containsExactly(0);
        assertThat(nodes(2 * MIB, 2 * MIB)).containsExactly(1);
        // Few of them elsewhere count for nothing.
        assertThat(nodes(32 * MIB, 32 * MIB)).containsExactly(0);
    }

    @Test
    void nodes_rangeOverSeveralMappings_areThoseWithAQuarterOfThePages() throws IOException {
        assertThat(nodes(0, 4 * MIB)).containsExactly(0, 1);
        assertThat(nodes(2 * MIB, 4 * MIB)).containsExactly(1);
        assertThat(nodes(8 * MIB, 16 * MIB)).containsExactly(0, 1);
    }

    @Test
    void nodes_pagesThatAreNotThereYet_areWhereThePolicyWantsThem() throws IOException {
        assertThat(nodes(4 * MIB, 2 * MIB)).containsExactly(1);
        assertThat(nodes(6 * MIB, MIB)).isEmpty();
        assertThat(nodes(-MIB, 4096)).as("the binary's own").containsExactly(1);
        assertThat(MemoryLocations.nodes(new BufferedReader(new StringReader("")), BASE, MIB))
                .isEmpty();
    }

    @Test
    void nodes_policiesOfTwoWordsAndWithFlags_areRead() throws IOException {
        assertThat(nodes(96 * MIB, MIB)).containsExactly(1);
        assertThat(nodes(98 * MIB, MIB)).containsExactly(0, 1);
        assertThat(nodes(100 * MIB, MIB)).containsExactly(1);
        assertThat(nodes(102 * MIB, MIB)).as("a colon in a file's name").isEmpty();
    }

    @Test
    void of_thisMachine_isOneOfItsNodes() {
        Topology machine = Topology.read();
        assertThat(machine.locations(BASE, MIB)).isNotEmpty();
        assertThat(machine.rails()).extracting(RailPreference::location).containsAll(machine.locations(BASE, MIB));
    }
}
