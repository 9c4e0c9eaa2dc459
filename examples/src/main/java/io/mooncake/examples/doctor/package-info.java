// SPDX-License-Identifier: Apache-2.0
/**
 * What this machine has, what it lacks, and why. Reads and asks, changes nothing; starts no node.
 */
@NullMarked
package io.mooncake.examples.doctor;

import org.jspecify.annotations.NullMarked;
