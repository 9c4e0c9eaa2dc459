// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.internal.Member;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Whether a node fits this one. Asked by the coordinator about a joining node, and by a joining node about those that are there, because
 * the coordinator may be a node without the plugin.
 */
final class JoinCheck {
    private final MooncakeSettings settings;
    private final UUID localId;

    JoinCheck(MooncakeSettings settings, UUID localId) {
        this.settings = settings;
        this.localId = localId;
    }

    /** Why {@code node} does not fit; empty when it does, or when it does not run the plugin. */
    Optional<String> refusal(ClusterNode node) {
        if (!(node.attribute(NodeAttributes.ROLE) instanceof String)) {
            return Optional.empty();
        }
        Optional<String> protocol = protocol(node);
        if (protocol.isPresent()) {
            return protocol;
        }
        Optional<String> secret = secret(node);
        return secret.isPresent() ? secret : pools(node);
    }

    private Optional<String> protocol(ClusterNode node) {
        String theirs = String.valueOf(node.<Object>attribute(NodeAttributes.PROTOCOL));
        String[] range = theirs.split("\\.\\.", -1);
        try {
            int min = Integer.parseInt(range[0]);
            int max = Integer.parseInt(range[range.length - 1]);
            if (min <= NodeAttributes.newestProtocol() && max >= NodeAttributes.PROTOCOL_MIN) {
                return Optional.empty();
            }
        } catch (NumberFormatException e) {
            // Not a range: refused below with the value.
        }
        return Optional.of("Mooncake protocol: " + theirs + " on node " + node.id() + " (expected: a range that meets "
                + NodeAttributes.PROTOCOL_MIN + ".." + NodeAttributes.newestProtocol() + " of node " + localId + ")");
    }

    private Optional<String> secret(ClusterNode node) {
        byte[] expected = NodeAttributes.proof(
                        settings.secret(), String.valueOf(node.<Object>attribute(NodeAttributes.ENDPOINT)))
                .getBytes(StandardCharsets.US_ASCII);
        byte[] found =
                String.valueOf(node.<Object>attribute(NodeAttributes.PROOF)).getBytes(StandardCharsets.US_ASCII);
        return MessageDigest.isEqual(expected, found)
                ? Optional.empty()
                : Optional.of("Mooncake secret: node " + node.id() + " does not prove the secret of node " + localId
                        + " (expected: property secret of MooncakePluginProvider, the same on every node)");
    }

    /**
     * Other weights under one name are another pool; another layout is a mistake. So are other weights beside a node of an older protocol,
     * which routes by the name alone.
     */
    private Optional<String> pools(ClusterNode node) {
        Map<String, String> theirs = NodeAttributes.pools(node);
        boolean weightsMayDiffer =
                Math.min(NodeAttributes.protocol(node), NodeAttributes.newestProtocol()) >= Member.TENANTS_SINCE;
        for (var pool : settings.pools()) {
            String identity = theirs.get(pool.name());
            if (identity == null) {
                continue;
            }
            // Left is the node in the message's order: the joining node's value comes first.
            String own = IdentityText.encode(pool.identity());
            List<String> differences =
                    weightsMayDiffer ? IdentityText.mistakes(identity, own) : IdentityText.differences(identity, own);
            if (!differences.isEmpty()) {
                return Optional.of("Mooncake pool " + pool.name() + ": " + String.join(", ", differences) + " (node "
                        + node.id() + " against node " + localId
                        + "; expected: one layout a pool name, or another name)");
            }
        }
        return Optional.empty();
    }
}
