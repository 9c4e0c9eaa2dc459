// SPDX-License-Identifier: Apache-2.0
/**
 * The part of the Jinja language that chat templates use, without reflection, files or clocks: templates come with model files, so
 * they are as little trusted as those. Strings know which of their characters came from messages.
 *
 * <p>Control plane: may allocate. Knows strings, numbers, lists and maps; touches nothing else.
 */
@NullMarked
package io.mooncake.djl.text.jinja;

import org.jspecify.annotations.NullMarked;
