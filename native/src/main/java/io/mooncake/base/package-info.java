// SPDX-License-Identifier: Apache-2.0
/**
 * What every module needs and nobody else offers: the root of all errors, deadlines, sizes. Plain Java, no dependency, no native code.
 */
@NullMarked
package io.mooncake.base;

import org.jspecify.annotations.NullMarked;
