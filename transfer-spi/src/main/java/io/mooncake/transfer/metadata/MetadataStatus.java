// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

/**
 * How a store fares; a consistent snapshot.
 *
 * @param state what it is doing
 * @param detail why, in words, for operators; empty when all is well
 * @param records records in the copy, own included
 * @param unpublished own changes that the service does not have yet
 * @param resyncs times that everything was listed anew, the first included
 * @param leaseLosses times that this node's lease was gone and all was published again
 * @param outages times that the service could not be reached
 */
public record MetadataStatus(
        State state, String detail, int records, int unpublished, long resyncs, long leaseLosses, long outages) {
    /** What a store is doing. */
    public enum State {
        /** Not synchronised yet. */
        STARTING,
        /** The copy follows the service. */
        SYNCED,
        /** The service cannot be reached: the copy is served as it was. */
        OUTAGE,
        /** Closed. */
        CLOSED
    }
}
