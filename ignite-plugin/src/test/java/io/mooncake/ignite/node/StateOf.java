// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.state.StateStore;
import java.util.UUID;
import org.apache.ignite.Ignite;

/** What tests of the state ask a running node for. */
public final class StateOf {
    private StateOf() {}

    /** The node's state. */
    public static StateStore node(Ignite node) {
        return services(node).state();
    }

    /** The member of {@code id} as {@code node} sees it. */
    public static Member member(Ignite node, UUID id) {
        return services(node).members().find(id).orElseThrow();
    }

    /** How many members {@code node} sees. */
    public static int members(Ignite node) {
        return services(node).members().all().size();
    }

    private static NodeServices services(Ignite node) {
        return ((MooncakeNode) Mooncake.of(node)).runtime();
    }
}
