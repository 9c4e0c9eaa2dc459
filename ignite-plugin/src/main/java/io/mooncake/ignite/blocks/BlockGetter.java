// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockResult.Status;
import io.mooncake.ignite.BlockSet;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Takes blocks for reading: those in memory at once, then round after round what the SSD brings up and what the next holder of each gives, each batch held as soon as it
 * is here, so that a later one does not push it out. One a call, by its thread.
 */
final class BlockGetter {
    /** What one lease takes. */
    private static final int BATCH_BLOCKS = 256;

    private static final long SSD_PAUSE_NANOS = 20_000_000;
    /** A slow network's bytes a millisecond, for more time with more to pull. */
    private static final long BYTES_A_MILLI = 50_000;

    private final NodeServices services;
    private final ClusterKvPool pool;
    private final LocalKvPool local;
    private final @Nullable SsdTier ssd;
    private final Tenant tenant;
    private final List<BlockKey> keys;
    private final Deadline deadline;
    private final List<@Nullable PinnedBlock> blocks;
    /** Holders that did not give a block, and why the last of them did not. */
    private final Map<BlockKey, Set<UUID>> failed = new HashMap<>();

    private final Map<BlockKey, MissReason> reasons = new HashMap<>();

    BlockGetter(NodeServices services, ClusterKvPool pool, Tenant tenant, List<BlockKey> keys, Deadline deadline) {
        this.services = services;
        this.pool = pool;
        this.local = pool.local();
        this.ssd = pool.ssd();
        this.tenant = tenant;
        this.keys = keys;
        this.deadline = deadline;
        this.blocks = new ArrayList<>(Collections.nCopies(keys.size(), null));
    }

    BlockSet get() {
        boolean done = false;
        try {
            boolean more = true;
            pinHere();
            while (more && blocks.contains(null)) {
                more = fetchRound();
                pinHere();
                if (!more
                        && onSsd()
                        && !deadline.expired()
                        && !Thread.currentThread().isInterrupted()) {
                    more = pause();
                }
                more &= !deadline.expired();
            }
            List<BlockResult> results = new ArrayList<>(keys.size());
            for (int i = 0; i < keys.size(); i++) {
                results.add(result(keys.get(i), blocks.get(i) != null));
            }
            done = true;
            return new BlockSet(results, blocks);
        } finally {
            if (!done) {
                blocks.forEach(BlockGetter::close);
            }
        }
    }

    /** @return whether the thread goes on */
    private boolean pause() {
        try {
            services.waits().pause(SSD_PAUSE_NANOS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void close(@Nullable PinnedBlock block) {
        if (block != null) {
            block.close();
        }
    }

    private BlockResult result(BlockKey key, boolean found) {
        int copies = BlockCopies.known(services, local, ssd, key).size();
        if (found) {
            return new BlockResult(key, Status.FOUND, copies, "");
        }
        MissReason reason = reasons.get(key);
        if (deadline.expired() && copies > 0) {
            return new BlockResult(key, Status.EXPIRED, copies, reason == null ? "" : reason.name());
        }
        if (reason == MissReason.NO_MEMORY) {
            return new BlockResult(key, Status.NO_ROOM, copies, "");
        }
        if (reason == null || reason == MissReason.LEASE_REFUSED || reason == MissReason.NOT_CACHED) {
            return new BlockResult(key, Status.ABSENT, 0, "");
        }
        return new BlockResult(key, Status.REFUSED, copies, reason.name());
    }

    private boolean onSsd() {
        for (int i = 0; i < blocks.size(); i++) {
            if (blocks.get(i) == null && ssd != null && ssd.contains(keys.get(i))) {
                return true;
            }
        }
        return false;
    }

    private void pinHere() {
        List<Integer> below = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            if (blocks.get(i) == null) {
                blocks.set(i, local.pin(keys.get(i)));
                if (blocks.get(i) == null && ssd != null && ssd.contains(keys.get(i))) {
                    below.add(i);
                }
            }
        }
        if (ssd != null && !below.isEmpty()) {
            List<@Nullable PinnedBlock> brought =
                    ssd.pin(below.stream().map(keys::get).toList(), deadline);
            for (int i = 0; i < below.size(); i++) {
                blocks.set(below.get(i), brought.get(i));
            }
        }
    }

    /** Asks one holder of each missing block that has not refused it yet; whether another round may bring more. */
    private boolean fetchRound() {
        Map<UUID, List<BlockKey>> byHolder = new LinkedHashMap<>();
        for (int i = 0; i < keys.size(); i++) {
            BlockKey key = keys.get(i);
            if (blocks.get(i) == null) {
                Set<UUID> refused = failed.getOrDefault(key, Set.of());
                services.index().holders(local.name(), key).stream()
                        .filter(node -> !refused.contains(node))
                        .findFirst()
                        .ifPresent(node -> byHolder.computeIfAbsent(node, holder -> new ArrayList<>())
                                .add(key));
            }
        }
        for (Map.Entry<UUID, List<BlockKey>> entry : byHolder.entrySet()) {
            List<BlockKey> wanted = entry.getValue();
            for (int from = 0; from < wanted.size() && !deadline.expired(); from += BATCH_BLOCKS) {
                fetch(entry.getKey(), wanted.subList(from, Math.min(wanted.size(), from + BATCH_BLOCKS)));
                pinHere();
            }
        }
        return !byHolder.isEmpty();
    }

    private void fetch(UUID node, List<BlockKey> batch) {
        Optional<Member> holder = services.members().find(node);
        long bytes = (long) batch.size() * local.layout().payloadBytes();
        // A holder that does not answer must not use up the time of the others.
        Deadline one =
                deadline.atMost(services.settings().fetchTimeout().plus(Duration.ofMillis(bytes / BYTES_A_MILLI)));
        List<MissReason> got = holder.isEmpty()
                ? Collections.nCopies(batch.size(), MissReason.PEER_UNREACHABLE)
                : pool.take(tenant, batch, node, holder.get().address(), one);
        for (int i = 0; i < batch.size(); i++) {
            if (got.get(i) != MissReason.NONE) {
                failed.computeIfAbsent(batch.get(i), key -> new HashSet<>()).add(node);
                reasons.put(batch.get(i), got.get(i));
            }
        }
    }
}
