// SPDX-License-Identifier: Apache-2.0
/** {@code topology}: prints interfaces, NUMA nodes and GPUs, and the rails for each memory location. Touches the transfer engine's topology. */
@NullMarked
package io.mooncake.examples.topology;

import org.jspecify.annotations.NullMarked;
