// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.pool.LeaseDescriptionDescriptor.Described;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.IncomingBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.LocalMatch;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteLease;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches a run of blocks from one holder: lease, read into private memory, verify, commit.
 *
 * <p>Every fault of the peer or the network ends the run early with its {@link MissReason}; what arrived verified before it is kept.
 * Threading: safe for all threads.
 */
final class BlockFetcher {
    private static final Logger LOG = LoggerFactory.getLogger(BlockFetcher.class);
    static final int BATCH_BLOCKS = 256;
    private static final long LOG_INTERVAL_NANOS = 1_000_000_000L;

    private final TransferEngine engine;
    private final Duration term;
    private final LongSupplier nanoClock;
    private final FetchListener listener;
    private final LongAdder fetchedBytes = new LongAdder();
    private volatile long loggedAt;

    BlockFetcher(TransferEngine engine, Duration term, LongSupplier nanoClock, FetchListener listener) {
        this.engine = engine;
        this.term = term;
        this.nanoClock = nanoClock;
        this.listener = listener;
        this.loggedAt = nanoClock.getAsLong() - LOG_INTERVAL_NANOS;
    }

    /**
     * What is wanted.
     *
     * @param pool where it goes
     * @param tenant whose blocks
     * @param tokens the prompt
     * @param keys keys of its whole blocks
     */
    record Wanted(LocalKvPool pool, Tenant tenant, int[] tokens, List<BlockKey> keys) {
        BlockKey parent(int index) {
            return index == 0 ? pool.root(tenant) : keys.get(index - 1);
        }

        int blockTokens() {
            return pool.identity().blockTokens();
        }

        int[] blockTokens(int index) {
            return java.util.Arrays.copyOfRange(tokens, index * blockTokens(), (index + 1) * blockTokens());
        }
    }

    /** Payload bytes fetched and verified so far. */
    long fetchedBytes() {
        return fetchedBytes.sum();
    }

    /**
     * Fetches blocks {@code match.wholeBlocks() .. end} and grows the match by what arrives.
     *
     * @return NONE when all arrived, else why not
     */
    MissReason fetch(Wanted wanted, LocalMatch match, int end, UUID holder, PeerAddress address, Deadline deadline) {
        while (match.wholeBlocks() < end) {
            int from = match.wholeBlocks();
            MissReason reason =
                    fetchBatch(wanted, match, from, Math.min(end, from + BATCH_BLOCKS), holder, address, deadline);
            if (reason != MissReason.NONE) {
                return reason;
            }
            if (match.wholeBlocks() <= from) {
                return MissReason.NOT_CACHED;
            }
        }
        return MissReason.NONE;
    }

    private MissReason fetchBatch(
            Wanted wanted, LocalMatch match, int from, int end, UUID holder, PeerAddress address, Deadline deadline) {
        if (deadline.expired()) {
            return MissReason.DEADLINE;
        }
        long startedAt = nanoClock.getAsLong();
        List<byte[]> keys = new ArrayList<>(end - from);
        for (int i = from; i < end; i++) {
            keys.add(wanted.keys().get(i).toBytes());
        }
        List<IncomingBlock> incoming = new ArrayList<>(keys.size());
        try (RemoteLease lease = engine.lease(address, wanted.pool().name(), keys, term, deadline)) {
            MissReason refused = prepare(wanted, lease, from, end, incoming);
            if (incoming.isEmpty()) {
                return refused;
            }
            MissReason failed = read(lease, incoming, deadline);
            match.extendLocally();
            long arrived =
                    (long) (match.wholeBlocks() - from) * wanted.pool().layout().payloadBytes();
            if (arrived > 0) {
                fetchedBytes.add(arrived);
                listener.onFetched(holder, arrived, nanoClock.getAsLong() - startedAt);
            }
            return failed == MissReason.NONE ? refused : failed;
        } catch (MooncakeException e) {
            return reason(e, address);
        } finally {
            incoming.forEach(IncomingBlock::close);
        }
    }

    /** Takes memory for as many elements as were granted in a row and fit. */
    private static MissReason prepare(
            Wanted wanted, RemoteLease lease, int from, int end, List<IncomingBlock> incoming) {
        for (int index = from; index < end; index++) {
            RemoteLease.Element element = lease.element(index - from);
            if (element == null) {
                // What the reply had no room for is asked for by the next batch, once something has arrived.
                return lease.deferred(index - from) && index > from ? MissReason.NONE : MissReason.LEASE_REFUSED;
            }
            BlockKey key = wanted.keys().get(index);
            BlockKey parent = wanted.parent(index);
            int blockTokens = wanted.blockTokens();
            if (element.handle().length() != wanted.pool().layout().payloadBytes()
                    || element.segmentLength() != wanted.pool().layout().layerBytes()
                    || !LeaseDescriptionDescriptor.describes(
                            element.description(),
                            key,
                            parent,
                            index,
                            wanted.tokens(),
                            index * blockTokens,
                            blockTokens)) {
                return MissReason.IDENTITY;
            }
            IncomingBlock block =
                    wanted.pool().beginIncoming(key, parent, index, wanted.blockTokens(index), wanted.tenant());
            if (block == null) {
                return MissReason.NO_MEMORY;
            }
            incoming.add(block);
        }
        return MissReason.NONE;
    }

    /**
     * Fetches blocks that their holder named, at most {@value #BATCH_BLOCKS}, parents before children. What each is its holder says, and its key proves it.
     *
     * @return one reason a key: NONE when it is here now
     */
    MissReason[] fetchNamed(
            LocalKvPool pool, Tenant tenant, List<BlockKey> keys, UUID holder, PeerAddress address, Deadline deadline) {
        MissReason[] reasons = new MissReason[keys.size()];
        List<Integer> missing = new ArrayList<>();
        for (int i = 0; i < reasons.length; i++) {
            reasons[i] = MissReason.NONE;
            if (!pool.contains(keys.get(i))) {
                missing.add(i);
            }
        }
        boolean more = true;
        while (more && !missing.isEmpty()) {
            int before = missing.size();
            missing = fetchSome(pool, tenant, keys, missing, reasons, holder, address, deadline);
            more = missing.size() < before;
        }
        missing.forEach(index -> reasons[index] = deadline.expired() ? MissReason.DEADLINE : MissReason.LEASE_REFUSED);
        return reasons;
    }

    /** @return those that the reply had no room for */
    private List<Integer> fetchSome(
            LocalKvPool pool,
            Tenant tenant,
            List<BlockKey> keys,
            List<Integer> wanted,
            MissReason[] reasons,
            UUID holder,
            PeerAddress address,
            Deadline deadline) {
        long startedAt = nanoClock.getAsLong();
        List<Integer> deferred = new ArrayList<>();
        List<Integer> asked = new ArrayList<>();
        List<IncomingBlock> incoming = new ArrayList<>();
        List<byte[]> bytes =
                wanted.stream().map(index -> keys.get(index).toBytes()).toList();
        try (RemoteLease lease = engine.lease(address, pool.name(), bytes, term, deadline)) {
            List<TransferEngine.ReadRequest> requests = new ArrayList<>();
            for (int i = 0; i < bytes.size(); i++) {
                int index = wanted.get(i);
                RemoteLease.Element element = lease.element(i);
                if (element == null && lease.deferred(i)) {
                    deferred.add(index);
                    continue;
                }
                IncomingBlock block = element == null ? null : room(pool, tenant, keys.get(index), element);
                if (block == null) {
                    reasons[index] = element == null ? MissReason.LEASE_REFUSED : MissReason.NO_MEMORY;
                    continue;
                }
                asked.add(i);
                incoming.add(block);
                requests.add(new TransferEngine.ReadRequest(i, block.address()));
            }
            long arrived = 0;
            TransferStatus[] statuses =
                    requests.isEmpty() ? new TransferStatus[0] : engine.read(lease, requests, deadline);
            for (int i = 0; i < statuses.length; i++) {
                MissReason reason = reason(statuses[i]);
                RemoteLease.Element element = lease.element(asked.get(i));
                if (reason == MissReason.NONE && element != null) {
                    reason = commit(incoming.get(i), element);
                    arrived += reason == MissReason.NONE ? pool.layout().payloadBytes() : 0;
                }
                reasons[wanted.get(asked.get(i))] = reason;
            }
            if (arrived > 0) {
                fetchedBytes.add(arrived);
                listener.onFetched(holder, arrived, nanoClock.getAsLong() - startedAt);
            }
            return deferred;
        } catch (MooncakeException e) {
            MissReason reason = reason(e, address);
            wanted.forEach(index -> reasons[index] = reason);
            return List.of();
        } finally {
            incoming.forEach(IncomingBlock::close);
        }
    }

    /** Memory for what the holder says that the block is; null when there is none, or when it says nonsense. */
    private static @Nullable IncomingBlock room(
            LocalKvPool pool, Tenant tenant, BlockKey key, RemoteLease.Element element) {
        Described told = LeaseDescriptionDescriptor.decode(
                element.description(), pool.identity().blockTokens());
        if (told == null
                || !told.key().equals(key)
                || element.handle().length() != pool.layout().payloadBytes()
                || element.segmentLength() != pool.layout().layerBytes()) {
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT, "lease of block " + key.hex() + " (expected: one of this pool)");
        }
        return pool.beginIncoming(key, told.parent(), told.depth(), told.tokens(), tenant);
    }

    private static MissReason commit(IncomingBlock block, RemoteLease.Element element) {
        return switch (block.commit(element.checksums())) {
            case STORED, KEPT_EXISTING -> MissReason.NONE;
            case WRONG_IDENTITY -> MissReason.IDENTITY;
            case WRONG_CHECKSUM -> MissReason.CHECKSUM;
            case INDEX_FULL -> MissReason.NO_MEMORY;
        };
    }

    private MissReason read(RemoteLease lease, List<IncomingBlock> incoming, Deadline deadline) {
        List<TransferEngine.ReadRequest> requests = new ArrayList<>(incoming.size());
        for (int i = 0; i < incoming.size(); i++) {
            requests.add(new TransferEngine.ReadRequest(i, incoming.get(i).address()));
        }
        TransferStatus[] statuses = engine.read(lease, requests, deadline);
        for (int i = 0; i < statuses.length; i++) {
            if (statuses[i] != TransferStatus.COMPLETED) {
                return reason(statuses[i]);
            }
            RemoteLease.Element element = lease.element(i);
            if (element == null) {
                return MissReason.LEASE_REFUSED;
            }
            MissReason refused = commit(incoming.get(i), element);
            if (refused != MissReason.NONE) {
                return refused;
            }
        }
        return MissReason.NONE;
    }

    private static MissReason reason(TransferStatus status) {
        return switch (status) {
            case COMPLETED -> MissReason.NONE;
            case TIMEOUT, CANCELED -> MissReason.DEADLINE;
            case STALE_GENERATION -> MissReason.STALE_GENERATION;
            case STALE_INCARNATION -> MissReason.STALE_INCARNATION;
            case LEASE_EXPIRED -> MissReason.LEASE_EXPIRED;
            case CHECKSUM -> MissReason.CHECKSUM;
            case REFUSED -> MissReason.LEASE_REFUSED;
            case PEER_UNREACHABLE, DEVICE_FAILED -> MissReason.PEER_UNREACHABLE;
        };
    }

    private MissReason reason(MooncakeException e, PeerAddress address) {
        MissReason reason =
                switch (e.code()) {
                    case DEADLINE_EXCEEDED -> MissReason.DEADLINE;
                    case PEER_REFUSED -> MissReason.LEASE_REFUSED;
                    case STALE -> MissReason.STALE_INCARNATION;
                    case CORRUPT -> MissReason.CHECKSUM;
                    case EXHAUSTED -> MissReason.NO_MEMORY;
                    case PEER_UNREACHABLE,
                            INVALID_ARGUMENT,
                            ILLEGAL_STATE,
                            CONFIGURATION,
                            MODEL_REFUSED,
                            DENIED,
                            NOT_FOUND,
                            INTERNAL -> MissReason.PEER_UNREACHABLE;
                };
        long now = nanoClock.getAsLong();
        if (now - loggedAt > LOG_INTERVAL_NANOS) {
            loggedAt = now;
            LOG.warn("Fetching from {} failed and counts as a miss, {}: {}", address.encode(), reason, e.getMessage());
        }
        return reason;
    }
}
