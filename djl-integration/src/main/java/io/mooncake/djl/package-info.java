// SPDX-License-Identifier: Apache-2.0
/**
 * The room a program enters by: named models on a node ({@link io.mooncake.djl.ModelExtension}), chat generation with reuse ({@link
 * io.mooncake.djl.ChatEngine}) and what a model must promise before its KV may be shared ({@link io.mooncake.djl.KvSemantics}). May touch
 * Ignite only through the plugin's extension interface, and DJL only through its public API and the PyTorch engine.
 */
@NullMarked
package io.mooncake.djl;

import org.jspecify.annotations.NullMarked;
