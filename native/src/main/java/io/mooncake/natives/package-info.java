// SPDX-License-Identifier: Apache-2.0
/**
 * The thin Java side of the C bridge, and what this machine offers. Control plane: it may allocate, log and read files. Everything here
 * loads without the library and says why it is absent; only {@link io.mooncake.natives.NativeBridge} loads it.
 */
@NullMarked
package io.mooncake.natives;

import org.jspecify.annotations.NullMarked;
