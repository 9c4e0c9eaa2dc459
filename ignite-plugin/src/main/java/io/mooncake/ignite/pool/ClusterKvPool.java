// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.ignite.pool.BlockFetcher.Wanted;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.LocalMatch;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.RequestHints;
import io.mooncake.memory.SingleFlight;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A pool whose look-ups go on in other nodes where the local match ends: the holder of the longest run that follows is asked, its blocks
 * are read into local memory, verified and kept. A fault is a shorter match with its reason; the next holder is tried while the deadline
 * allows. Without a reachable peer it is the local pool.
 *
 * <p>Threading: safe for all threads. Ownership: borrows the local pool and the engine.
 */
public final class ClusterKvPool implements KvPool {
    private final Shared shared;
    private final Tenant tenant;

    private ClusterKvPool(Shared shared, Tenant tenant) {
        this.shared = shared;
        this.tenant = tenant;
    }

    /** What all tenants' views share. */
    private record Shared(
            LocalKvPool local,
            @Nullable SsdTier ssd,
            Holders holders,
            SourceChoice sources,
            BlockFetcher fetcher,
            SingleFlight flights,
            Duration fetchTimeout) {}

    /**
     * @param local this node's part
     * @param ssd what is below it; null: nothing
     * @param holders what others have
     * @param engine moves the bytes
     * @param term how long blocks of peers are leased for a fetch
     * @param fetchTimeout most time that one look-up spends on fetching
     * @param listener hears of fetches
     */
    public static ClusterKvPool of(
            LocalKvPool local,
            @Nullable SsdTier ssd,
            Holders holders,
            TransferEngine engine,
            Duration term,
            Duration fetchTimeout,
            LongSupplier nanoClock,
            FetchListener listener) {
        BlockFetcher fetcher = new BlockFetcher(engine, term, nanoClock, listener);
        SourceChoice sources =
                new SourceChoice(holders, engine.pathMatrix(), local.layout().payloadBytes());
        return new ClusterKvPool(
                new Shared(local, ssd, holders, sources, fetcher, new SingleFlight(), fetchTimeout), Tenant.DEFAULT);
    }

    @Override
    public String name() {
        return shared.local.name();
    }

    @Override
    public KvIdentity identity() {
        return shared.local.identity();
    }

    /** This node's part. */
    public LocalKvPool local() {
        return shared.local;
    }

    /**
     * Takes blocks that another node names, parents before children, whole and verified; those that are here already count as taken.
     *
     * @param owner whose blocks they are; nothing of its salt is needed
     * @param keys at most 256
     * @param holder Ignite's id of the node that has them
     * @return one reason a key: NONE when it is here now
     */
    public List<MissReason> take(
            Tenant owner, List<BlockKey> keys, UUID holder, PeerAddress address, Deadline deadline) {
        return List.of(shared.fetcher.fetchNamed(shared.local, owner, keys, holder, address, deadline));
    }

    /** The SSD below this node's part; null: none. */
    public @Nullable SsdTier ssd() {
        return shared.ssd;
    }

    /** Payload bytes fetched from peers and verified so far. */
    public long fetchedBytes() {
        return shared.fetcher.fetchedBytes();
    }

    @Override
    public KvPool forTenant(Tenant other) {
        return new ClusterKvPool(shared, other);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        return acquire(tokens, deadline, RequestHints.NONE);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints hints) {
        try (LocalMatch match = shared.local.match(tenant, tokens, hints)) {
            if (match.complete()) {
                return match.toLease(match.matchedTokens(), MissReason.NONE);
            }
            Fetched fetched = new Fetched();
            MissReason reason = fetchRest(match, tokens, deadline.atMost(shared.fetchTimeout), fetched);
            return match.toLease(Math.max(0, match.matchedTokens() - fetched.tokens), reason);
        }
    }

    /** What one look-up got from other nodes. */
    private static final class Fetched {
        int tokens;
    }

    private MissReason fetchRest(LocalMatch match, int[] tokens, Deadline deadline, Fetched fetched) {
        int end = match.reusableTokens() / identity().blockTokens();
        if (match.wholeBlocks() >= end) {
            return MissReason.NOT_CACHED;
        }
        List<BlockKey> keys = match.chain();
        Wanted wanted = new Wanted(shared.local, tenant, tokens, keys);
        Set<UUID> failed = new HashSet<>();
        MissReason reason = MissReason.NOT_CACHED;
        while (match.wholeBlocks() < end) {
            MissReason ssd = fromSsd(match, keys, deadline);
            if (ssd == MissReason.NO_MEMORY || match.wholeBlocks() >= end) {
                return ssd;
            }
            reason = ssd == MissReason.NOT_CACHED ? reason : ssd;
            int from = match.wholeBlocks();
            List<Run> runs = shared.holders.runs(keys.subList(0, end), from).stream()
                    .filter(run -> !failed.contains(run.nodeId()))
                    .toList();
            Optional<Run> best = shared.sources.best(runs);
            if (best.isEmpty()) {
                return reason;
            }
            if (deadline.expired()) {
                return MissReason.DEADLINE;
            }
            BlockKey first = keys.get(from);
            if (!shared.flights.beginOrAwait(first, deadline)) {
                match.extendLocally();
                if (Thread.currentThread().isInterrupted()) {
                    return MissReason.DEADLINE;
                }
                continue;
            }
            try {
                UUID holder = best.get().nodeId();
                MissReason failure = fetchRun(wanted, match, from + best.get().blocks(), holder, deadline, fetched);
                if (failure == MissReason.NO_MEMORY) {
                    return failure;
                }
                if (failure != MissReason.NONE) {
                    // Who gave some may have the rest on its SSD, and is asked again.
                    if (failure != MissReason.LEASE_REFUSED || match.wholeBlocks() == from) {
                        failed.add(holder);
                    }
                    reason = failure;
                }
            } finally {
                shared.flights.end(first);
            }
        }
        return reason;
    }

    /** What this node's own SSD has of what comes next: nearer than any peer. */
    private MissReason fromSsd(LocalMatch match, List<BlockKey> keys, Deadline deadline) {
        return shared.ssd == null ? MissReason.NOT_CACHED : shared.ssd.extend(match, tenant, keys, deadline);
    }

    private MissReason fetchRun(
            Wanted wanted, LocalMatch match, int end, UUID holder, Deadline deadline, Fetched fetched) {
        // A flight that ended between the look-up and our own may have brought them.
        match.extendLocally();
        PeerAddress address = shared.holders.address(holder);
        if (address == null) {
            return MissReason.PEER_UNREACHABLE;
        }
        int before = match.wholeBlocks();
        try {
            return shared.fetcher.fetch(wanted, match, end, holder, address, deadline);
        } finally {
            fetched.tokens += (match.wholeBlocks() - before) * wanted.blockTokens();
        }
    }

    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens) {
        return shared.local.extend(tenant, prefix, tokens);
    }

    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens, Deadline deadline) {
        return shared.local.extend(tenant, prefix, tokens, deadline);
    }

    @Override
    public PrefixLease withoutLookup() {
        return shared.local.withoutLookup();
    }
}
