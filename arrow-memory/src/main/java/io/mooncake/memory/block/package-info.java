// SPDX-License-Identifier: Apache-2.0
/**
 * What a block looks like in memory, what it is called, and who holds it: layout, chained keys, slots. Data plane: no locks
 * on allocate, lease and release; knows neither index nor network. {@code BlockSlab} is public for the pool's sake
 * only.
 */
@NullMarked
package io.mooncake.memory.block;

import org.jspecify.annotations.NullMarked;
