// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import io.mooncake.transfer.metadata.internal.RecordTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.UUID;

/**
 * What other stores told: the changes of each owner are numbered, so that a missing one is noticed and a snapshot asked for. Used by the store's
 * thread alone.
 */
final class PeerRecords {
    private final RecordTable table;
    private final Map<UUID, Peer> peers = new HashMap<>();

    /** One owner. While {@code asked}, changes are passed over: the snapshot that comes after them has them. */
    private static final class Peer {
        final UUID node;
        long sequence;
        boolean asked;
        final TreeSet<String> keys = new TreeSet<>();
        final List<MetadataFrameDescriptor.Entry> parts = new ArrayList<>();
        int nextPart;
        long partsSequence;

        Peer(UUID node) {
            this.node = node;
        }
    }

    PeerRecords(RecordTable table) {
        this.table = table;
    }

    /**
     * Takes a frame from {@code node}.
     *
     * @return whether its owner must be asked for a snapshot
     */
    boolean take(UUID node, MetadataFrameDescriptor.Frame frame) {
        Peer peer = peers.get(frame.owner());
        if (peer == null || !peer.node.equals(node)) {
            // A client that reconnected is another node with the same store.
            gone(frame.owner());
            peer = new Peer(node);
            peers.put(frame.owner(), peer);
        }
        return switch (frame.type()) {
            case HELLO, DIGEST -> {
                // A question may have been lost: ask again.
                peer.asked = peer.sequence < frame.sequence();
                yield peer.asked;
            }
            case CHANGE -> change(peer, frame);
            case SNAPSHOT -> snapshot(peer, frame);
            case BYE -> {
                gone(frame.owner());
                yield false;
            }
        };
    }

    private boolean change(Peer peer, MetadataFrameDescriptor.Frame frame) {
        if (peer.asked || frame.sequence() <= peer.sequence) {
            return false;
        }
        if (frame.sequence() > peer.sequence + 1) {
            peer.asked = true;
            return true;
        }
        peer.sequence = frame.sequence();
        apply(peer, frame.entries());
        return false;
    }

    /** Parts come in order; whoever misses one asks again at the next digest. */
    private boolean snapshot(Peer peer, MetadataFrameDescriptor.Frame frame) {
        if (frame.part() == 0) {
            peer.parts.clear();
            peer.nextPart = 0;
            peer.partsSequence = frame.sequence();
        }
        if (frame.part() != peer.nextPart || frame.sequence() != peer.partsSequence) {
            return false;
        }
        peer.parts.addAll(frame.entries());
        peer.nextPart++;
        if (peer.nextPart < frame.parts()) {
            return false;
        }
        if (frame.sequence() >= peer.sequence) {
            TreeSet<String> before = new TreeSet<>(peer.keys);
            apply(peer, peer.parts);
            peer.parts.forEach(entry -> before.remove(entry.record().key()));
            before.forEach(key -> drop(peer, frame.owner(), key));
            peer.sequence = frame.sequence();
        }
        peer.asked = false;
        peer.parts.clear();
        return false;
    }

    private void apply(Peer peer, List<MetadataFrameDescriptor.Entry> entries) {
        for (MetadataFrameDescriptor.Entry entry : entries) {
            if (entry.removed()) {
                drop(peer, entry.record().owner(), entry.record().key());
            } else {
                peer.keys.add(entry.record().key());
                table.apply(entry.record());
            }
        }
    }

    private void drop(Peer peer, UUID owner, String key) {
        peer.keys.remove(key);
        table.drop(key, owner);
    }

    /** An owner closed. */
    private void gone(UUID owner) {
        Optional.ofNullable(peers.remove(owner)).ifPresent(peer -> peer.keys.forEach(key -> table.drop(key, owner)));
    }

    /** Forgets the owners on nodes for which {@code alive} is false. */
    void retain(java.util.function.Predicate<UUID> alive) {
        peers.entrySet().stream()
                .filter(each -> !alive.test(each.getValue().node))
                .map(Map.Entry::getKey)
                .toList()
                .forEach(this::gone);
    }

    /** Forgets everybody without telling: the table is about to be made anew. */
    void clear() {
        peers.clear();
    }
}
