// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/**
 * What a follower looks at before it believes. All on in a node; the simulation turns one off at a time, and must find out.
 *
 * @param repairsGaps events that are missing are asked for before later ones are applied
 * @param showsWholeCopies a snapshot is shown after its last page
 * @param appliesOnce an event is applied once, whatever comes again
 * @param checksIncarnation frames of another life of the owner are dropped
 * @param clearsLost what a lost owner announced is void
 */
record FeedChecks(
        boolean repairsGaps,
        boolean showsWholeCopies,
        boolean appliesOnce,
        boolean checksIncarnation,
        boolean clearsLost) {
    static final FeedChecks ALL = new FeedChecks(true, true, true, true, true);
}
