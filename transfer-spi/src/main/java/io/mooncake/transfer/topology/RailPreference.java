// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.util.List;

/**
 * The interfaces for memory at one location.
 *
 * @param location {@code cpu:N} for a NUMA node, {@code gpu:N} for a GPU
 * @param preferred the nearest ones
 * @param secondary the others, nearest first; used when the preferred ones are busy or down
 * @param proximity how near the preferred ones are
 * @param overridden whether a file says so, not the machine
 */
public record RailPreference(
        String location, List<String> preferred, List<String> secondary, Proximity proximity, boolean overridden) {
    public RailPreference {
        preferred = List.copyOf(preferred);
        secondary = List.copyOf(secondary);
    }
}
