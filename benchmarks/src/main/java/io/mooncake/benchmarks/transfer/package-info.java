// SPDX-License-Identifier: Apache-2.0
/**
 * The transfer benchmark: the engine beside a C program and beside Mooncake's own engine, in one run.
 *
 * <p>Each contender is an owner and a client in processes of their own. All clients take the same commands as lines, see
 * {@code ceiling.c}. This package allocates and logs; the loop that is measured, {@link io.mooncake.benchmarks.transfer.Stopwatch}, does not.
 */
@NullMarked
package io.mooncake.benchmarks.transfer;

import org.jspecify.annotations.NullMarked;
