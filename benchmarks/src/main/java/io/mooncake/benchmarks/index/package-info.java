// SPDX-License-Identifier: Apache-2.0
/** How fast a router finds who holds a prompt, in the index of other nodes' blocks. */
@NullMarked
package io.mooncake.benchmarks.index;

import org.jspecify.annotations.NullMarked;
