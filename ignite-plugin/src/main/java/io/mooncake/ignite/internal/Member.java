// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.ignite.Role;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import java.util.Map;
import java.util.UUID;

/**
 * A node of the cluster that runs the plugin.
 *
 * @param nodeId Ignite's id of this life of the node
 * @param consistentId Ignite's id that outlives restarts, as text
 * @param role what it does for the pool
 * @param address its engine
 * @param pools its pools: name to canonical identity text
 * @param protocol newest protocol that it speaks
 * @param local whether it is this node
 * @param locality where it stands
 */
public record Member(
        UUID nodeId,
        String consistentId,
        Role role,
        PeerAddress address,
        Map<String, String> pools,
        int protocol,
        boolean local,
        Locality locality) {
    /** The first protocol whose requests name a tenant, and whose pools of one name may have other weights. */
    public static final int TENANTS_SINCE = 2;

    public Member {
        pools = Map.copyOf(pools);
    }

    /** Whether it reads whose request it is: an older one would drop the tenant and answer with everybody's blocks. */
    public boolean readsTenants() {
        return protocol >= TENANTS_SINCE;
    }
}
