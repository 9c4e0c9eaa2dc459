// SPDX-License-Identifier: Apache-2.0
/**
 * Where network interfaces, NUMA nodes and GPUs of this machine sit, which interfaces are near which memory, and how long transfers to peers
 * took so far. Control plane, but for {@link io.mooncake.transfer.topology.PathMatrix}, whose observations allocate nothing. Touches
 * sysfs and the kernel's list of this process's mappings, and nothing of the engine.
 */
@NullMarked
package io.mooncake.transfer.topology;

import org.jspecify.annotations.NullMarked;
