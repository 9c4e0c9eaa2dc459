// SPDX-License-Identifier: Apache-2.0
/**
 * Text to token ids and back, and the chat template, both as the model's GGUF metadata says.
 *
 * <p>Control plane: may allocate and log. Knows metadata, strings and ids; touches neither tensors nor Ignite nor the pool.
 */
@NullMarked
package io.mooncake.djl.text;

import org.jspecify.annotations.NullMarked;
