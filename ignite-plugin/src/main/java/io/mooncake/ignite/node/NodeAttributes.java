// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.internal.Member;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.ignite.cluster.ClusterNode;
import org.jspecify.annotations.Nullable;

/**
 * What a node says about itself in Ignite's node attributes. JDK types only, so that nodes without our jars live beside it.
 */
public final class NodeAttributes {
    /** Text form of the engine's {@link PeerAddress}. */
    public static final String ENDPOINT = "mooncake.endpoint";
    /** Name of the {@link Role}. */
    public static final String ROLE = "mooncake.role";
    /** Protocol versions spoken: {@code min..max}. */
    public static final String PROTOCOL = "mooncake.protocol";
    /** {@code Map<String, String>}: pool name to canonical identity text. */
    public static final String POOLS = "mooncake.pools";
    /** User attribute: the rack that the node stands in. */
    public static final String RACK = "mooncake.rack";
    /** User attribute: the zone that the rack is in. */
    public static final String ZONE = "mooncake.zone";
    /** Proof that the node knows the secret, for its own endpoint alone. */
    public static final String PROOF = "mooncake.proof";
    /** {@code "true"} where the service runs. */
    public static final String SERVICE = "mooncake.service";

    /** Oldest protocol that this version speaks. */
    public static final int PROTOCOL_MIN = 1;
    /** Newest protocol that this version speaks: 2 has version 2 of the feed. */
    public static final int PROTOCOL_MAX = 2;
    /** System property that makes a node speak no newer protocol: for trying how it lives beside an older version. */
    public static final String PROTOCOL_LIMIT = "mooncake.protocol.max";

    private NodeAttributes() {}

    /** All attributes of a node. */
    static Map<String, Object> of(MooncakeSettings settings, PeerAddress address, boolean client) {
        Map<String, Object> attributes = new HashMap<>();
        attributes.put(ENDPOINT, address.encode());
        attributes.put(ROLE, settings.role().name());
        attributes.put(PROTOCOL, PROTOCOL_MIN + ".." + newestProtocol());
        attributes.put(POOLS, pools(settings));
        attributes.put(PROOF, proof(settings.secret(), address.encode()));
        if (settings.role() != Role.OBSERVER && !client) {
            attributes.put(SERVICE, "true");
        }
        return attributes;
    }

    /**
     * HMAC-SHA256 of the node's endpoint under the secret, in hexadecimal: shows knowledge of it and is of no use with another endpoint.
     * The endpoint has a random incarnation, and unlike the node's id it stays when a client reconnects.
     */
    static String proof(String secret, String endpoint) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            byte[] digest = mac.doFinal(("mooncake-join|" + endpoint).getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }

    /** The member that {@code node} is, or empty for nodes without the plugin. */
    static Optional<Member> member(ClusterNode node, UUID localId) {
        Object endpoint = node.attribute(ENDPOINT);
        Object role = node.attribute(ROLE);
        if (!(endpoint instanceof String text) || !(role instanceof String roleName)) {
            return Optional.empty();
        }
        return Arrays.stream(Role.values())
                .filter(known -> known.name().equals(roleName))
                .findFirst()
                .map(known -> new Member(
                        node.id(),
                        String.valueOf(node.consistentId()),
                        known,
                        PeerAddress.parse(text),
                        pools(node),
                        protocol(node),
                        node.id().equals(localId),
                        locality(node)));
    }

    /** Newest protocol that this node speaks. */
    static int newestProtocol() {
        return Math.max(PROTOCOL_MIN, Math.min(PROTOCOL_MAX, Integer.getInteger(PROTOCOL_LIMIT, PROTOCOL_MAX)));
    }

    /** Newest protocol that {@code node} speaks; the oldest where it does not say. */
    static int protocol(ClusterNode node) {
        String range = String.valueOf(node.<Object>attribute(PROTOCOL));
        try {
            return Integer.parseInt(range.substring(range.lastIndexOf('.') + 1));
        } catch (NumberFormatException e) {
            // Refused when it joins; not spoken with in anything newer until then.
            return PROTOCOL_MIN;
        }
    }

    /** The machine by its host names; rack and zone as the node's user attributes name them. */
    static Locality locality(ClusterNode node) {
        String host = node.hostNames().stream().sorted().collect(Collectors.joining(","));
        return new Locality(place(host), place(node.attribute(RACK)), place(node.attribute(ZONE)));
    }

    private static String place(@Nullable Object value) {
        String text = value instanceof String found ? found : "";
        return text.length() <= Locality.MAX_CHARACTERS ? text : text.substring(0, Locality.MAX_CHARACTERS);
    }

    /** This node's own pools, as others see them. */
    static HashMap<String, String> pools(MooncakeSettings settings) {
        HashMap<String, String> pools = new HashMap<>();
        for (PoolDefinition pool : settings.pools()) {
            pools.put(pool.name(), IdentityText.encode(pool.identity()));
        }
        return pools;
    }

    /** The pools of {@code node}, empty when it names none. */
    static Map<String, String> pools(ClusterNode node) {
        Map<String, String> pools = new HashMap<>();
        if (node.attribute(POOLS) instanceof Map<?, ?> found) {
            found.forEach((name, identity) -> pools.put(String.valueOf(name), String.valueOf(identity)));
        }
        return pools;
    }
}
