// SPDX-License-Identifier: Apache-2.0
/** How fast the longest cached prefix of a prompt is found: the product's tree beside other ways to do it. */
@NullMarked
package io.mooncake.benchmarks.prefix;

import org.jspecify.annotations.NullMarked;
