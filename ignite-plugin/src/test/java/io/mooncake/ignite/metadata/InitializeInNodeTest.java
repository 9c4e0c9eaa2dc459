// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@code TransferEngine.initialize} with metadata {@code ignite}, within a node and without one. */
class InitializeInNodeTest {
    private static final String PROPERTY = "mooncake.secret";
    private String before;

    @BeforeEach
    void setSecret() {
        before = System.setProperty(PROPERTY, "the secret of the test cluster");
    }

    @AfterEach
    void restoreSecret() {
        if (before == null) {
            System.clearProperty(PROPERTY);
        } else {
            System.setProperty(PROPERTY, before);
        }
    }

    @Test
    void initialize_noNodeInThisProcess_isToldSo() {
        assertThatThrownBy(() -> TransferEngine.initialize("127.0.0.1", "ignite", "tcp", ""))
                .hasMessageContaining("the instance name of a node that runs in this process")
                .hasMessageContaining("running: []")
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CONFIGURATION);
    }

    @Test
    void initialize_withinNode_findsTheNodesEngineAndItsLikes() {
        try (TestGrid grid = new TestGrid()) {
            Ignite node = grid.start("one", config -> config.setPluginProviders(grid.provider()));
            // Three ports each, of the end of the grid's; nodes take theirs from the beginning.
            String here = "127.0.0.1:" + (grid.ports() + 50);
            String there = "127.0.0.1:" + (grid.ports() + 55);
            try (TransferEngine engine = TransferEngine.initialize(here, "ignite", "tcp", "");
                    TransferEngine other = TransferEngine.initialize(there, "ignite", "tcp", "")) {
                Deadline deadline = Deadline.ofMillis(30_000);
                assertThat(engine.peer(there, deadline)).isEqualTo(other.address());
                PeerAddress plugin =
                        TransferCommunicationSpi.endpointOf(node.cluster().localNode());
                assertThat(plugin).isNotNull();
                assertThat(engine.peers()).extracting(one -> one.address()).contains(plugin, engine.address());
            }
        }
    }
}
