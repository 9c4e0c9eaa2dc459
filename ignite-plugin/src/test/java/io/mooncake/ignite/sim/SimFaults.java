// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.transfer.internal.SafetyChecks;

/**
 * What a world does to its nodes, and which of their checks are made.
 *
 * @param checks of engines, and with {@code checksum} of pools
 * @param damages whether bytes change on their way
 * @param suspects whether owners take a reader for gone that is not, and take it back
 * @param loyal whether placement counts on the copies of nodes that left
 */
record SimFaults(SafetyChecks checks, boolean damages, boolean suspects, boolean loyal) {
    /** What is shipped, in a world that does everything. */
    static final SimFaults NONE = new SimFaults(SafetyChecks.ALL, true, true, false);
}
