// SPDX-License-Identifier: Apache-2.0
/**
 * The engine inside an Ignite node. The only package here that knows Ignite; it touches Ignite's public SPI and the transfer API.
 */
@NullMarked
package io.mooncake.transfer.ignite;

import org.jspecify.annotations.NullMarked;
