// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.Placement;
import io.mooncake.memory.BlockKey;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lifecycle.LifecycleBean;
import org.apache.ignite.lifecycle.LifecycleEventType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Placement on one node: reports, offers, copies, drain and warm-up put together, with the node's life. A node that stops, by whatever asks it to, drains first for as
 * long as {@code drainOnStopTimeoutMillis} allows: Ignite tells of the stop while everything still runs.
 */
public final class NodePlacement implements Placement {
    private static final Duration WARM_UP_TIME = Duration.ofMinutes(2);
    private static final Logger LOG = LoggerFactory.getLogger(NodePlacement.class);

    private volatile @Nullable Parts parts;

    private record Parts(
            NodeServices services,
            StoreReports reports,
            Copies copies,
            Drain drain,
            WarmUp warmUp,
            @Nullable Replicas replicas) {}

    @Override
    public void initExtensions(NodeServices services, IgniteConfiguration config) {
        if (services.settings().role() == Role.OBSERVER) {
            return;
        }
        long millis = services.settings().role() == Role.STORE
                ? services.settings().drainOnStop().toMillis()
                : 0;
        LifecycleBean[] before = config.getLifecycleBeans();
        LifecycleBean[] beans = before == null ? new LifecycleBean[1] : Arrays.copyOf(before, before.length + 1);
        beans[beans.length - 1] = event -> {
            if (event == LifecycleEventType.BEFORE_NODE_STOP) {
                drainBeforeStop(millis);
            }
        };
        config.setLifecycleBeans(beans);
    }

    private void drainBeforeStop(long millis) {
        Parts running = parts;
        if (running == null) {
            return;
        }
        // Whatever follows: what comes now would go with the node.
        running.reports.draining(true);
        if (millis == 0) {
            return;
        }
        try {
            running.drain.runBeforeStop(Deadline.ofMillis(millis));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.warn("The node stops without having given its blocks to others", e);
        }
    }

    @Override
    public void start(NodeServices services) {
        StoreReports reports = new StoreReports(services);
        Offers offers = new Offers(services);
        Copies copies = new Copies(services, reports, offers);
        WarmUp warmUp = new WarmUp(services, reports);
        boolean store = services.settings().role() == Role.STORE;
        int wanted = services.settings().replicas();
        Replicas replicas = store ? new Replicas(services, reports, copies, wanted) : null;
        parts = new Parts(services, reports, copies, new Drain(services, reports, copies), warmUp, replicas);
        offers.start();
        reports.start();
        if (store) {
            new OfferTaker(services, reports).start();
            warmUp.start();
        }
        if (replicas != null) {
            replicas.start();
        }
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        double share = services.settings().warmUpShare();
        if (share > 0) {
            services.workers().execute(() -> warmUpAll(services, share));
        }
    }

    private void warmUpAll(NodeServices services, double share) {
        services.localPools().forEach((name, pool) -> {
            try {
                int most = (int) Math.max(1, pool.stats().capacityBlocks() * share);
                parts().warmUp.run(name, most, Deadline.of(WARM_UP_TIME));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                LOG.warn("Pool {} was not warmed up: {}", name, e.toString());
            }
        });
    }

    @Override
    public boolean draining(UUID node) {
        Parts running = parts;
        return running != null && running.reports.refuses(node);
    }

    @Override
    public Optional<StoreReport> report(UUID node) {
        Parts running = parts;
        if (running == null) {
            return Optional.empty();
        }
        return running.services
                .members()
                .find(node)
                .filter(member -> member.role() != Role.OBSERVER)
                .flatMap(member -> running.reports.of(node));
    }

    @Override
    public @Nullable UUID[] copy(String pool, String tenant, List<BlockKey> keys, Set<UUID> except, Deadline deadline)
            throws InterruptedException {
        return parts().copies.copy(pool, tenant, keys, except, deadline).nodes();
    }

    @Override
    public DrainResult drain(Deadline deadline) throws InterruptedException {
        return parts().drain.run(deadline);
    }

    @Override
    public void resume() {
        parts().reports.draining(false);
        Replicas replicas = parts().replicas;
        if (replicas != null) {
            replicas.lookAtAll();
        }
    }

    @Override
    public long warmUp(String pool, int maxBlocks, Deadline deadline) throws InterruptedException {
        if (maxBlocks < 1) {
            throw MooncakeException.invalid("maxBlocks", maxBlocks, "at least 1");
        }
        return parts().warmUp.run(pool, maxBlocks, deadline);
    }

    private Parts parts() {
        Parts running = parts;
        if (running == null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the node has not started");
        }
        return running;
    }

    @Override
    public void onIgniteStop() {
        Parts running = parts;
        if (running != null) {
            if (running.replicas != null) {
                running.replicas.close();
            }
            running.reports.close();
        }
    }
}
