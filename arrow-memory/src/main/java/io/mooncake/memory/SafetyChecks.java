// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * Checks that stand between a request and foreign bytes. Always all on; tests switch one off to show that it is what holds the line.
 *
 * @param keys the full key in a slot's header is compared after it is leased
 * @param identity a fetched block's parent and tokens must give its key
 * @param checksums a fetched block's bytes must give its checksums
 */
record SafetyChecks(boolean keys, boolean identity, boolean checksums) {
    static final SafetyChecks ALL = new SafetyChecks(true, true, true);
}
