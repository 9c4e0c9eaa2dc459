// SPDX-License-Identifier: Apache-2.0
/**
 * A cluster of real processes on this host and a client of it, for the demo and the benchmarks: starting, waiting, killing, asking each
 * node for its figures. Children never outlive their parent.
 */
@NullMarked
package io.mooncake.examples.cluster;

import org.jspecify.annotations.NullMarked;
