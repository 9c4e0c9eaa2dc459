// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.TenantQuota;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the cluster's quotas in force in this node's pools: what a row says is shared evenly by them, in memory and on the SSD. A quota that is not there any more is no limit.
 *
 * <p>Threading: safe for all threads. Changes are applied on a worker, one at a time, each by what the row says then, so that their order does not matter.
 */
public final class Quotas implements NodeComponent, StateListener {
    private static final String KEY_PREFIX = StateRow.Quota.key("");
    private static final Logger LOG = LoggerFactory.getLogger(Quotas.class);

    private volatile @Nullable NodeServices services;

    @Override
    public void start(NodeServices node) {
        services = node;
        node.state().addListener(this);
    }

    @Override
    public void onChange(String key, @Nullable Versioned<?> row) {
        NodeServices node = services;
        if (node == null || !key.startsWith(KEY_PREFIX)) {
            return;
        }
        try {
            node.workers().execute(() -> apply(node, key.substring(KEY_PREFIX.length())));
        } catch (RejectedExecutionException e) {
            LOG.debug("Quotas: the node stops");
        }
    }

    private synchronized void apply(NodeServices node, String tenant) {
        TenantQuota all = of(node.state(), tenant);
        Collection<LocalKvPool> pools = node.localPools().values();
        for (LocalKvPool pool : pools) {
            try {
                pool.limit(new Tenant(tenant, new byte[0]), share(all, pools.size()));
            } catch (MooncakeException e) {
                LOG.warn("The quota of tenant {} is not in force in pool {}: {}", tenant, pool.name(), e.getMessage());
            }
        }
    }

    private static TenantQuota share(TenantQuota all, int pools) {
        return all.equals(TenantQuota.UNLIMITED)
                ? all
                : new TenantQuota(all.dramBytes() / pools, all.ssdBytes() / pools);
    }

    private static TenantQuota of(StateStore state, String tenant) {
        return state.quotas()
                .find(StateRow.Quota.key(tenant))
                .map(row -> quota(row.row()))
                .orElse(TenantQuota.UNLIMITED);
    }

    private static TenantQuota quota(StateRow.Quota row) {
        return new TenantQuota(row.dramBytes(), row.ssdBytes());
    }

    /** All quotas that {@code state} knows, by the tenants' names. */
    public static Map<String, TenantQuota> all(StateStore state) {
        Map<String, TenantQuota> quotas = new TreeMap<>();
        state.quotas().all().forEach(row -> quotas.put(row.row().tenant(), quota(row.row())));
        return quotas;
    }

    /** Sets a quota for the whole cluster; {@link TenantQuota#UNLIMITED} takes it away. Errors as {@link StateTable} says. */
    public static void set(StateStore state, String tenant, TenantQuota quota, Deadline deadline) {
        String name = new Tenant(tenant, new byte[0]).name();
        if (quota.equals(TenantQuota.UNLIMITED)) {
            state.quotas().removeAny(StateRow.Quota.key(name), deadline);
        } else {
            state.quotas().put(new StateRow.Quota(name, quota.dramBytes(), quota.ssdBytes()), deadline);
        }
    }
}
