// SPDX-License-Identifier: Apache-2.0
/** The SSD benchmark: {@link io.mooncake.memory.ssd.SsdStore} beside fio, in one run. */
@NullMarked
package io.mooncake.benchmarks.ssd;

import org.jspecify.annotations.NullMarked;
