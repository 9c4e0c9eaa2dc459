// SPDX-License-Identifier: Apache-2.0
/** Which classes are read out of what other nodes send. Control plane. */
@NullMarked
package io.mooncake.ignite.security;

import org.jspecify.annotations.NullMarked;
