// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.KvPool;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.TenantQuota;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.apache.ignite.Ignite;
import org.apache.ignite.plugin.IgnitePlugin;

/**
 * The product on one Ignite node.
 *
 * <p>Threading: safe for all threads. Belongs to its node: it is valid until the node stops.
 */
public interface Mooncake extends IgnitePlugin {
    /** Name of the plugin in Ignite. */
    String PLUGIN_NAME = "mooncake";

    /**
     * Mooncake on {@code ignite}.
     *
     * @throws io.mooncake.base.MooncakeException NOT_FOUND when the plugin is not configured there; the message shows the XML
     */
    static Mooncake of(Ignite ignite) {
        return MooncakeLookup.of(ignite);
    }

    /** The node. */
    Ignite ignite();

    /** What this node does for the pool. */
    Role role();

    /** The pool called {@code name}, or {@code name@digest}, on this node. @throws io.mooncake.base.MooncakeException NOT_FOUND naming the pools there are */
    KvPool pool(String name);

    /**
     * The blocks of that pool by their keys, anywhere in the cluster.
     *
     * @throws io.mooncake.base.MooncakeException NOT_FOUND naming the pools there are
     */
    KvBlocks blocks(String pool, Tenant tenant);

    /** The same of {@link Tenant#DEFAULT}. */
    default KvBlocks blocks(String pool) {
        return blocks(pool, Tenant.DEFAULT);
    }

    /** Pools on this node. */
    Collection<KvPool> pools();

    /** The extension called {@code name}. @throws io.mooncake.base.MooncakeException NOT_FOUND naming the extensions there are */
    <T extends NodeExtension> T extension(String name, Class<T> type);

    /** Where the conductor would send {@code route} now. Changes nothing. */
    RouteDecision decide(Route route);

    /**
     * Sends {@code job} to the node where it will answer soonest and runs it there.
     *
     * @return completed with the job's result; exceptionally with the job's own exception, or a MooncakeException (DEADLINE_EXCEEDED,
     *     PEER_UNREACHABLE when the node died, NOT_FOUND when no node has the pool)
     */
    <R> CompletionStage<R> submit(Route route, RoutedJob<R> job);

    /** What would be reused for {@code tokens} of {@link Tenant#DEFAULT} from where, and why the rest is missed. Changes nothing. */
    default Explanation explain(String pool, int[] tokens) {
        return explain(pool, Tenant.DEFAULT, tokens);
    }

    /** The same of {@code tenant}; it says nothing of the blocks of others. */
    Explanation explain(String pool, Tenant tenant, int[] tokens);

    /** The tenant called {@code name}, with the salt that this cluster gives it. For code on members, which are trusted. */
    Tenant tenant(String name);

    /**
     * Whose blocks {@code caller} sees, by the option {@code tenantResolver}; {@link Tenant#DEFAULT} where there is none. For front ends that
     * take in requests of others: {@code submit(route.tenant(tenantOf(caller).name()), job)}.
     *
     * @throws io.mooncake.base.MooncakeException DENIED for one that the resolver does not know
     */
    Tenant tenantOf(Caller caller);

    /**
     * Lets pass who may see figures of all tenants: members, logins of the option {@code operators}, everybody where nobody is authenticated.
     *
     * @throws io.mooncake.base.MooncakeException DENIED for every other login
     */
    void requireOperator(Caller caller);

    /**
     * Gives what only this node holds to others, so that it can leave without loss. From now on no requests are sent to it and it takes no copies, until it stops or
     * {@link #resume()} is called. A node that is stopped in an orderly way drains by itself ({@code drainOnStopTimeoutMillis}).
     *
     * @param timeout most time for it; what is left then is said in the result
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT for a time below 1 ms; DEADLINE_EXCEEDED when the waiting thread is interrupted
     */
    DrainResult drain(Duration timeout);

    /** Takes {@link #drain} back: the node takes requests and copies again. */
    void resume();

    /**
     * Fills free blocks of {@code pool} with what its peers use most.
     *
     * @param maxBlocks most blocks, at least 1
     * @param timeout most time for it, at least 1 ms
     * @return blocks that came
     * @throws io.mooncake.base.MooncakeException NOT_FOUND naming the pools there are; INVALID_ARGUMENT
     */
    long warmUp(String pool, int maxBlocks, Duration timeout);

    /**
     * Compares every block of {@code pool} in this node's memory with its checksums, and takes damaged ones away with those that follow them. Reads all of the
     * pool's memory once; look-ups go on meanwhile. What lies on an SSD is checked by its store.
     *
     * @throws io.mooncake.base.MooncakeException NOT_FOUND naming the pools there are
     */
    ScrubReport scrub(String pool);

    /**
     * Limits what {@code tenant} may have on each node, for the whole cluster and until it is changed. A node's pools share it evenly. It is in force on every node some
     * seconds later, on those that start after that, too; see {@link io.mooncake.memory.LocalKvPool#limit} for what that means.
     *
     * @param tenant its name, 1..128 characters
     * @param quota bytes of memory and SSD; {@link TenantQuota#UNLIMITED}: no limit any more
     * @param timeout most time for it, at least 1 ms
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT; ILLEGAL_STATE while the cluster takes no writes; EXHAUSTED when {@code stateRowBudget} is used up
     */
    void quota(String tenant, TenantQuota quota, Duration timeout);

    /** Quotas in force, by the names of their tenants. */
    Map<String, TenantQuota> quotas();

    /** Figures of this node. */
    NodeStatistics statistics();

    /** Nodes that hold pools or run jobs for them, this one included where it does. */
    List<java.util.UUID> storeNodes();
}
