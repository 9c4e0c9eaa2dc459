// SPDX-License-Identifier: Apache-2.0
/**
 * Ignite's own messages over the engine, between servers that both want it: order per pair kept, each delivered once, Ignite's TCP as the
 * way out (docs/adr/0013-ignite-messages.md). Ignite's public SPI and the transfer API.
 */
@NullMarked
package io.mooncake.transfer.ignite.messages;

import org.jspecify.annotations.NullMarked;
