// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import io.mooncake.base.MooncakeException;
import java.util.Map;

/**
 * Where a node stands. Empty parts are unknown; two unknown ones are not the same.
 *
 * @param host of the machine
 * @param rack of the machine
 * @param zone of the rack
 */
public record Locality(String host, String rack, String zone) {
    /** Attribute of an engine's record. */
    public static final String HOST = "host";

    /** Attribute of an engine's record. */
    public static final String RACK = "rack";

    /** Attribute of an engine's record. */
    public static final String ZONE = "zone";

    /** Nothing is known. */
    public static final Locality UNKNOWN = new Locality("", "", "");

    /** Longest part. */
    public static final int MAX_CHARACTERS = 255;

    public Locality {
        requireShort(HOST, host);
        requireShort(RACK, rack);
        requireShort(ZONE, zone);
    }

    private static void requireShort(String name, String value) {
        if (value.length() > MAX_CHARACTERS) {
            throw MooncakeException.invalid(name, value.length() + " characters", "0.." + MAX_CHARACTERS);
        }
    }

    /** From an engine's attributes. */
    public static Locality of(Map<String, String> attributes) {
        return new Locality(
                attributes.getOrDefault(HOST, ""),
                attributes.getOrDefault(RACK, ""),
                attributes.getOrDefault(ZONE, ""));
    }

    /** How near two nodes are, nearest first. */
    public enum Closeness {
        SAME_HOST,
        SAME_RACK,
        SAME_ZONE,
        ELSEWHERE
    }

    /** How near {@code other} is. */
    public Closeness to(Locality other) {
        if (same(host, other.host)) {
            return Closeness.SAME_HOST;
        }
        boolean zonesDiffer = !zone.isEmpty() && !other.zone.isEmpty() && !zone.equals(other.zone);
        if (same(rack, other.rack) && !zonesDiffer) {
            return Closeness.SAME_RACK;
        }
        return same(zone, other.zone) ? Closeness.SAME_ZONE : Closeness.ELSEWHERE;
    }

    private static boolean same(String own, String other) {
        return !own.isEmpty() && own.equals(other);
    }
}
