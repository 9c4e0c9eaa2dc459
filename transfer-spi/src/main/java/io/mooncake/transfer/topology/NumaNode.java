// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.util.List;

/**
 * A NUMA node.
 *
 * @param id the kernel's number
 * @param cpus its processors, as the kernel lists them: {@code 0-3,8}
 * @param distances to the nodes in the order of their numbers; 10 is itself
 */
public record NumaNode(int id, String cpus, List<Integer> distances) {
    public NumaNode {
        distances = List.copyOf(distances);
    }
}
