// SPDX-License-Identifier: Apache-2.0
/** What allocating and leasing blocks costs, beside Arrow's allocator and the C library's. */
@NullMarked
package io.mooncake.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
