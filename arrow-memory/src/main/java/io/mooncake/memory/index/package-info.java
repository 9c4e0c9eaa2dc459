// SPDX-License-Identifier: Apache-2.0
/**
 * The token tree in primitive arrays that finds the longest cached prefix. Data plane: look-ups allocate nothing but their result and take
 * no lock; knows neither memory nor network.
 */
@NullMarked
package io.mooncake.memory.index;

import org.jspecify.annotations.NullMarked;
