// SPDX-License-Identifier: Apache-2.0
/**
 * Blocks on an SSD, found again after a crash: {@link io.mooncake.memory.ssd.SsdStore}. Direct I/O from the caller's page-aligned memory,
 * several I/O threads, a journaled index, a checksum that binds every record to its identity. Data plane: an operation allocates one small
 * buffer object and no copy is made; locks are held for a few instructions, never across I/O. Knows neither pool nor policy nor network.
 */
@NullMarked
package io.mooncake.memory.ssd;

import org.jspecify.annotations.NullMarked;
