// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

/** What a node does for the pool. */
public enum Role {
    /** Holds blocks for everybody and runs jobs. The default of server nodes. */
    STORE,
    /** Runs jobs with a pool of its own but announces nothing to others. */
    COMPUTE,
    /** Holds nothing; routes requests by the owners' announcements. The default of client nodes. */
    OBSERVER
}
