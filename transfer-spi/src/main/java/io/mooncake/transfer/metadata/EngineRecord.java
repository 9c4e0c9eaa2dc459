// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * An engine as its node publishes it.
 *
 * @param address how to reach this life of it
 * @param attributes what else others should know (name, transports, host id, rack, zone): up to 64, names of 1..64 characters
 *     {@code [A-Za-z0-9._-]}, values of up to 1,024 characters; sorted by name
 */
public record EngineRecord(PeerAddress address, Map<String, String> attributes) {
    /** Attribute: the name that peers may use instead of the address, {@code localHostname} of the engine's start. */
    public static final String NAME = "name";

    private static final int MAX_ATTRIBUTES = 64;
    private static final int MAX_CHARACTERS = 1024;
    private static final Pattern ATTRIBUTE = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    public EngineRecord {
        if (attributes.size() > MAX_ATTRIBUTES) {
            throw MooncakeException.invalid("attributes", attributes.size(), "0.." + MAX_ATTRIBUTES);
        }
        attributes.forEach((name, value) -> {
            if (!ATTRIBUTE.matcher(name).matches()) {
                throw MooncakeException.invalid("attribute", name, "1..64 characters of A-Z a-z 0-9 . _ -");
            }
            if (value.length() > MAX_CHARACTERS) {
                throw MooncakeException.invalid(
                        "attribute " + name, value.length() + " characters", "0.." + MAX_CHARACTERS);
            }
        });
        attributes = java.util.Collections.unmodifiableMap(new TreeMap<>(attributes));
    }
}
