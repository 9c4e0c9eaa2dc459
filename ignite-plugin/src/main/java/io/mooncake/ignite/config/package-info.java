// SPDX-License-Identifier: Apache-2.0
/**
 * The configuration: the bean becomes one immutable record here, every violation reported at once, before anything starts; and the memory
 * plan against the machine and its container. Reads Ignite's configuration, starts nothing.
 */
@NullMarked
package io.mooncake.ignite.config;

import org.jspecify.annotations.NullMarked;
