// SPDX-License-Identifier: Apache-2.0
/** Memory of GPUs for the pool's uppermost tier, behind one interface. Control plane: copies are started here, the device makes them. */
@NullMarked
package io.mooncake.memory.gpu;

import org.jspecify.annotations.NullMarked;
