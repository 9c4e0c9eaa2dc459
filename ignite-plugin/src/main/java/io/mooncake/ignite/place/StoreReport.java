// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import java.util.UUID;

/**
 * What a node with pools says of itself to those who place copies and send requests.
 *
 * @param node Ignite's id of the node
 * @param draining whether it is to leave: it takes no copies and wants no requests
 * @param fenced whether it doubts that it is still a member: it gives and takes nothing until it knows
 * @param freeShare share of its pools' blocks that are free, 0..1; the least of its pools
 * @param ageMillis how long it has been running
 * @param replicas copies of each block that it keeps; 0: it does not look after copies
 */
public record StoreReport(
        UUID node, boolean draining, boolean fenced, double freeShare, long ageMillis, int replicas) {}
