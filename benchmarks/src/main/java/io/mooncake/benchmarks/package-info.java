// SPDX-License-Identifier: Apache-2.0
/**
 * The bench commands. Each class asks one question of the shipped program and answers in the shared JSON form; nothing depends on this
 * room.
 */
@NullMarked
package io.mooncake.benchmarks;

import org.jspecify.annotations.NullMarked;
