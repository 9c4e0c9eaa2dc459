// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

/**
 * Which safety checks an engine makes: all of them, always, except in the tests that show what each one is for.
 *
 * @param generation the owner asks the region's guard before and after it moves bytes
 * @param checksum the reader verifies its private copy
 * @param leaseExpiry owner and reader stop at the end of the term
 * @param incarnation both sides insist on the life of the engine that was named
 * @param capability the owner verifies the MAC
 */
public record SafetyChecks(
        boolean generation, boolean checksum, boolean leaseExpiry, boolean incarnation, boolean capability) {
    /** What is shipped. */
    public static final SafetyChecks ALL = new SafetyChecks(true, true, true, true, true);
}
