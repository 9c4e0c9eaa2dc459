// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

/** How far an interface is from memory; nearest first. */
public enum Proximity {
    /** Behind the same PCI switch. */
    SWITCH,
    /** At the same PCI root complex. */
    ROOT_COMPLEX,
    /** At the same NUMA node. */
    NUMA_NODE,
    /** At another NUMA node. */
    OTHER_NODE,
    /** The kernel does not say where one of them sits. */
    UNKNOWN
}
