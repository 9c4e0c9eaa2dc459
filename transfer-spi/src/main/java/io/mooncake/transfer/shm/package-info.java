// SPDX-License-Identifier: Apache-2.0
/**
 * Shared memory: peers of one machine map each other's registered files for reading and copy out of them under a lease. Data plane: no
 * locks across a copy, no logging in it. Touches the transfer API, its internals and the native bridge.
 */
@NullMarked
package io.mooncake.transfer.shm;

import org.jspecify.annotations.NullMarked;
