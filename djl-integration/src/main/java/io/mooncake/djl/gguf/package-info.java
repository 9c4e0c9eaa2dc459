// SPDX-License-Identifier: Apache-2.0
/**
 * GGUF checkpoint files: a strict reader, dequantisation to F32, a writer and a tiny seeded model for tests.
 *
 * <p>Control plane: may allocate and log. Knows files and numbers only; touches neither DJL nor Ignite nor the pool.
 */
@NullMarked
package io.mooncake.djl.gguf;

import org.jspecify.annotations.NullMarked;
