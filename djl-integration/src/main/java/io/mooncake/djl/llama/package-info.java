// SPDX-License-Identifier: Apache-2.0
/**
 * A Llama-family decoder written in DJL NDArray operations on the PyTorch engine, with keys and values preallocated a layer. Data plane:
 * knows nothing of pools or Ignite, allocates only tensors, never logs inside a forward pass.
 */
@NullMarked
package io.mooncake.djl.llama;

import org.jspecify.annotations.NullMarked;
