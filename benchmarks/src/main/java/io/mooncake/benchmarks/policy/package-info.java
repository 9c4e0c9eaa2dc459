// SPDX-License-Identifier: Apache-2.0
/** Replays recorded requests through the eviction policies of {@code arrow-memory}. */
@NullMarked
package io.mooncake.benchmarks.policy;

import org.jspecify.annotations.NullMarked;
