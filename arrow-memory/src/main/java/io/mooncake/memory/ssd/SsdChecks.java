// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

/**
 * Checks that stand between a device's faults and wrong bytes. Always all on; tests switch one off to show that it is what holds the line.
 *
 * @param checksums what was read must give its checksum
 */
record SsdChecks(boolean checksums) {
    static final SsdChecks ALL = new SsdChecks(true);
}
