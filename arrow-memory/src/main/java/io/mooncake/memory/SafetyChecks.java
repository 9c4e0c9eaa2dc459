// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * Checks that stand between a request and foreign bytes. Always all on; tests switch one off to show that it is what holds the line.
 *
 * @param found a lease is taken only on the generation that was found, and what was found by key has that key in its header
 * @param identity a fetched block's parent and tokens must give its key
 * @param checksums a fetched block's bytes must give its checksums
 */
record SafetyChecks(boolean found, boolean identity, boolean checksums) {
    static final SafetyChecks ALL = new SafetyChecks(true, true, true);
}
