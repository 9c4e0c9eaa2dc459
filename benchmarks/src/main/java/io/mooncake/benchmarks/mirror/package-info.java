// SPDX-License-Identifier: Apache-2.0
/** How fast and how large the SQL mirror is, on a node as it runs. */
@NullMarked
package io.mooncake.benchmarks.mirror;

import org.jspecify.annotations.NullMarked;
