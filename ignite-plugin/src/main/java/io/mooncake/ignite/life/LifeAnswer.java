// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.life;

/**
 * What a peer says of who asks, and of itself.
 *
 * @param member whether the asking life is a member of the cluster that the peer is in
 * @param fenced whether the peer itself does not know whether it is one: its no means nothing then
 * @param servers server nodes of Ignite in the peer's topology, itself included
 * @param oldest the least order of them, which tells two parts of one cluster apart
 */
public record LifeAnswer(boolean member, boolean fenced, int servers, long oldest) {}
