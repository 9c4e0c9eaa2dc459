// SPDX-License-Identifier: Apache-2.0
/**
 * Metadata of engines within Ignite: members by the topology, further records told from node to node. Touches Ignite by its public API and the
 * adapter, and the engine's metadata interfaces.
 */
@NullMarked
package io.mooncake.ignite.metadata;

import org.jspecify.annotations.NullMarked;
