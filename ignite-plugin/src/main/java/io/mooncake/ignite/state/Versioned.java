// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import java.util.UUID;

/**
 * A row as it was read.
 *
 * @param row what is remembered
 * @param version counts the row's writes, from 1
 * @param node Ignite's id of the node that wrote it
 * @param incarnation the writer's life
 */
public record Versioned<T extends StateRow>(T row, long version, UUID node, UUID incarnation) {}
