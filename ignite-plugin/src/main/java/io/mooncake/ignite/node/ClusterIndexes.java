// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.index.HeldCopy;
import io.mooncake.ignite.index.Holding;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.ignite.index.PoolIndex.Partial;
import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.PoolNames;
import io.mooncake.ignite.pool.Holders;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The indexes of all pools that any member has, by {@linkplain PoolNames#id(String) id}. Membership is asked at every look-up, so that a node which left is never returned, even
 * before its entries are cleared.
 */
final class ClusterIndexes implements ClusterIndex {
    private static final Logger LOG = LoggerFactory.getLogger(ClusterIndexes.class);

    private final Members members;
    private final int maxEntries;
    private final long maxTokens;
    private final Map<String, PoolIndex> pools = new ConcurrentHashMap<>();

    /**
     * @param maxEntries most blocks of other nodes that it knows of, in each pool
     * @param maxTokens most token ids that it remembers of them in FAST mode, in each of this node's own pools
     */
    ClusterIndexes(Members members, int maxEntries, long maxTokens) {
        this.members = members;
        this.maxEntries = maxEntries;
        this.maxTokens = maxTokens;
    }

    /** Makes the index of a pool of this node, once: it finds parts of blocks, too, which only a pool here can fetch. */
    PoolIndex define(String plain, KvIdentity identity) {
        return define(plain, IdentityText.encode(identity), maxTokens);
    }

    private PoolIndex define(String plain, String identity, long tokens) {
        return pools.computeIfAbsent(
                PoolNames.id(plain, identity),
                id -> new PoolIndex(IdentityText.parse(identity), maxEntries, tokens, () -> tellFull(id)));
    }

    /** Drops the indexes of pools that nobody has any more, such as those of weights that were rolled out of the cluster. */
    void forgetUnknown() {
        PoolNames names = members.poolNames();
        pools.keySet().removeIf(id -> !names.known(id));
    }

    private void tellFull(String pool) {
        LOG.warn(
                "The index of pool {} is full: of the blocks of other nodes it knows {} and finds no more of them (option indexEntries)",
                pool,
                maxEntries);
    }

    @Nullable
    PoolIndex find(String pool) {
        return pools.get(members.poolNames().id(pool));
    }

    /** Where the followers of {@code member} write, by the name that it gives the pool. */
    Map<String, HolderSink> sinks(Member member) {
        Map<String, HolderSink> sinks = new HashMap<>();
        member.pools()
                .forEach((pool, identity) ->
                        sinks.put(pool, define(pool, identity, 0).sink(member.nodeId())));
        return sinks;
    }

    /** What the pool {@code pool} asks when its local match ends. */
    Holders holders(String pool) {
        return new Holders() {
            @Override
            public List<Run> runs(List<BlockKey> keys, int from) {
                return living(pool, keys, from);
            }

            @Override
            public @Nullable Partial partial(BlockKey parent, int[] tokens, int from) {
                PoolIndex index = find(pool);
                Partial found = index == null ? null : index.partial(parent, tokens, from);
                return found == null ? null : living(found);
            }

            @Override
            public @Nullable PeerAddress address(UUID nodeId) {
                return members.find(nodeId).map(Member::address).orElse(null);
            }

            @Override
            public Locality.Closeness closeness(UUID nodeId) {
                Locality own = members.all().stream()
                        .filter(Member::local)
                        .map(Member::locality)
                        .findFirst()
                        .orElse(Locality.UNKNOWN);
                return own.to(members.find(nodeId).map(Member::locality).orElse(Locality.UNKNOWN));
            }
        };
    }

    @Override
    public List<Holding> holders(String pool, Tenant tenant, int[] tokens) {
        PoolIndex index = find(pool);
        if (index == null) {
            return List.of();
        }
        int blockTokens = index.identity().blockTokens();
        return living(index.runs(tenant, tokens))
                .map(run -> new Holding(run.nodeId(), run.blocks() * blockTokens, run.ssdBlocks() * blockTokens))
                .toList();
    }

    @Override
    public List<UUID> holders(String pool, BlockKey key) {
        return living(pool, List.of(key), 0).stream().map(Run::nodeId).toList();
    }

    private List<Run> living(String pool, List<BlockKey> keys, int from) {
        PoolIndex index = find(pool);
        return index == null ? List.of() : living(index.runs(keys, from)).toList();
    }

    private @Nullable Partial living(Partial found) {
        List<UUID> holders = found.holders().stream()
                .filter(node -> members.find(node).isPresent())
                .toList();
        return holders.isEmpty() ? null : new Partial(found.key(), found.tokens(), holders);
    }

    private Stream<Run> living(List<Run> runs) {
        return runs.stream().filter(run -> members.find(run.nodeId()).isPresent());
    }

    @Override
    public int holderCount(String pool, BlockKey key) {
        PoolIndex index = find(pool);
        return index == null ? 0 : index.holderCount(key);
    }

    @Override
    public Set<String> pools() {
        PoolNames names = members.poolNames();
        return pools.keySet().stream().map(names::called).collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public Iterator<HeldCopy> held(String pool) {
        PoolIndex index = find(pool);
        return index == null ? Collections.emptyIterator() : index.held();
    }

    @Override
    public Optional<MissReason> whyGone(String pool, BlockKey key) {
        PoolIndex index = find(pool);
        return index == null ? Optional.empty() : index.whyGone(key);
    }

    @Override
    public long refused() {
        return pools.values().stream().mapToLong(PoolIndex::refused).sum();
    }

    @Override
    public long entries() {
        return pools.values().stream().mapToLong(PoolIndex::entries).sum();
    }
}
