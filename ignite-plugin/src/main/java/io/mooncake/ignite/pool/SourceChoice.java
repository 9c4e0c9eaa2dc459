// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import io.mooncake.transfer.topology.PathMatrix;
import io.mooncake.transfer.topology.PathMatrix.Candidate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Which of several holders of the same blocks is asked: the one from which they are expected to come soonest, by what transfers measured and
 * by how near it stands; among equals any, so that they share the work.
 */
final class SourceChoice {
    private final Holders holders;
    private final PathMatrix matrix;
    private final long blockBytes;

    SourceChoice(Holders holders, PathMatrix matrix, long blockBytes) {
        this.holders = holders;
        this.matrix = matrix;
        this.blockBytes = blockBytes;
    }

    /** The best of {@code runs}, which come longest first: of the longest ones. Empty when there is none. */
    Optional<Run> best(List<Run> runs) {
        if (runs.size() < 2 || runs.get(0).blocks() > runs.get(1).blocks()) {
            return runs.stream().findFirst();
        }
        int longest = runs.get(0).blocks();
        // Those that wait for the SSD least come first.
        int cold = runs.get(0).ssdBlocks();
        List<Run> equal = new ArrayList<>(runs.stream()
                .filter(run -> run.blocks() == longest && run.ssdBlocks() == cold)
                .toList());
        Collections.shuffle(equal);
        List<Candidate> candidates = equal.stream().map(this::candidate).toList();
        Candidate first = matrix.rank(candidates, longest * blockBytes).get(0);
        return Optional.of(equal.get(candidates.indexOf(first)));
    }

    private Candidate candidate(Run run) {
        PeerAddress address = holders.address(run.nodeId());
        UUID peer = address == null ? run.nodeId() : address.incarnation();
        return new Candidate(peer, address == null ? Locality.Closeness.ELSEWHERE : holders.closeness(run.nodeId()));
    }
}
