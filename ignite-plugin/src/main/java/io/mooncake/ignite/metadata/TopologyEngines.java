// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.internal.EngineRecords;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.ignite.cluster.ClusterNode;

/** Engines as the attributes of Ignite's nodes tell of them. */
final class TopologyEngines {
    /** Attribute of the engine: Ignite's id of its node. */
    static final String NODE = "ignite.node";

    private TopologyEngines() {}

    /** A record for each node that has an engine. Nodes of other versions may say what we do not understand: they are left out. */
    static List<MetadataRecord> of(Collection<ClusterNode> nodes) {
        List<MetadataRecord> found = new ArrayList<>();
        for (ClusterNode node : nodes) {
            try {
                PeerAddress address = TransferCommunicationSpi.endpointOf(node);
                if (address != null) {
                    EngineRecord engine = new EngineRecord(
                            address,
                            Map.of(
                                    EngineRecord.NAME,
                                    String.valueOf(node.consistentId()),
                                    NODE,
                                    node.id().toString()));
                    found.add(new MetadataRecord(
                            EngineRecords.key(address.incarnation()), node.id(), 0, EngineRecords.encode(engine)));
                }
            } catch (MooncakeException e) {
                // MemberTracker logs such nodes.
                continue;
            }
        }
        return found;
    }
}
