// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.base.Waits;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.feed.BlockEventListener;
import io.mooncake.ignite.feed.FollowedOwner;
import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.pool.FetchListener;
import io.mooncake.ignite.state.StateStore;
import io.mooncake.ignite.tenant.Tenants;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.transfer.TransferEngine;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.apache.ignite.Ignite;

/**
 * What the node offers to the plugin's parts. One instance a node; nothing is static, so several nodes live in one JVM.
 *
 * <p>Threading: safe for all threads. What a step of the life cycle has not brought up yet throws ILLEGAL_STATE.
 */
public interface NodeServices {
    /** The node. Its caches and services may be used from {@link NodeComponent#onIgniteStart} on. */
    Ignite ignite();

    /** The plugin on this node. */
    Mooncake mooncake();

    /** The validated configuration. */
    MooncakeSettings settings();

    /** The one door to Ignite's internals: views, metrics, attributes. */
    IgniteAdapter adapter();

    /** Id of this life of the node. */
    default UUID localNodeId() {
        return adapter().localNodeId();
    }

    /** The engine, whoever owns it. From {@link NodeComponent#start} on. */
    TransferEngine engine();

    /** Pools of this node, by configuration and extensions; empty on observers. */
    List<PoolDefinition> poolDefinitions();

    /** What the blocks of {@code pool} mean, by this node's definitions or by any member's. */
    Optional<KvIdentity> identityOf(String pool);

    /** This node's pools by name; empty on observers. From {@link NodeComponent#start} on. */
    Map<String, LocalKvPool> localPools();

    /** The same pools with what other nodes have. From {@link NodeComponent#start} on. */
    Map<String, ClusterKvPool> clusterPools();

    /** The SSDs below this node's pools, by the pool's name; empty where there are none. From {@link NodeComponent#start} on. */
    Map<String, SsdTier> tiers();

    /** Who holds what, this node's own blocks not included. */
    ClusterIndex index();

    /** The nodes that run the plugin. */
    Members members();

    /** How well this node hears of the blocks of {@code nodeId}; empty for a node that is not followed. */
    Optional<FollowedOwner> followed(UUID nodeId);

    /** What the cluster must remember: pins, replica intents, quotas, pools. */
    StateStore state();

    /** Whose blocks a caller sees. */
    Tenants tenants();

    /** Whether this node does not know whether it is a member still: it gives, announces and writes nothing then. */
    default boolean fenced() {
        return false;
    }

    /** Where copies are, and who is to leave. From {@link NodeComponent#start} on. */
    Placement placement();

    /** Hears of every block stored in or removed from this node's pools, in order, in batches, on one thread. Add it in start. */
    void addBlockListener(BlockEventListener listener);

    /** Hears of every fetch of blocks from a peer, on the fetching thread. Add it in start. */
    void addFetchListener(FetchListener listener);

    /** For timed work that never blocks. */
    ScheduledExecutorService scheduler();

    /** For work that may block. */
    Executor workers();

    /** Monotonic time in nanoseconds. */
    LongSupplier nanoClock();

    /** How whoever waits does it, by the same time. */
    default Waits waits() {
        return Waits.SYSTEM;
    }

    /** For the calling thread's choices. */
    default RandomGenerator random() {
        return ThreadLocalRandom.current();
    }
}
