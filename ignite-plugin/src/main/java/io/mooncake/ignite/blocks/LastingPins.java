// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.blocks.ActFrame.Action;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.Rendezvous;
import io.mooncake.ignite.state.StateRow.Pin;
import io.mooncake.ignite.state.StateTable;
import io.mooncake.ignite.state.Versioned;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets hard pins outlive their nodes. The cluster's state has a row for each, which says the life of the node that pins the block. That node pins it again where it finds it
 * unpinned, as after its SSD gave it back, and hands the row on when it has lost the block. When that life is over, one of the holders takes the row over, by compare-and-set before it
 * pins, so that one does.
 *
 * <p>Threading: safe for all threads; a pass over the rows each second, one at a time, on a worker.
 */
public final class LastingPins implements NodeComponent {
    private static final long TICK_MILLIS = 1_000;
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Logger LOG = LoggerFactory.getLogger(LastingPins.class);

    private final AtomicBoolean running = new AtomicBoolean();
    private @Nullable ScheduledFuture<?> timer;

    /** Remembers that {@code pinner} pins {@code key}. @return why it will not outlive that node; empty when it will */
    static String remember(NodeServices services, String pool, BlockKey key, Member pinner, Deadline deadline) {
        StateTable<Pin> pins = services.state().pins();
        try {
            pins.onBehalfOf(pinner).put(new Pin(pool, key, Optional.empty()), deadline);
            return "";
        } catch (MooncakeException e) {
            return "ends with that node: " + e.getMessage();
        }
    }

    /** Forgets that {@code key} is pinned. @return why it is still remembered; empty when it is not */
    static String forget(NodeServices services, String pool, BlockKey key, Deadline deadline) {
        StateTable<Pin> pins = services.state().pins();
        try {
            pins.removeAny(Pin.key(pool, key), deadline);
            return "";
        } catch (MooncakeException e) {
            boolean known = pins.find(Pin.key(pool, key)).isPresent();
            return known ? "the cluster remembers the pin: " + e.getMessage() : "";
        }
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        if (!services.localPools().isEmpty()) {
            timer = services.scheduler()
                    .scheduleWithFixedDelay(() -> tick(services), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void tick(NodeServices services) {
        if (running.compareAndSet(false, true)) {
            services.workers().execute(() -> {
                try {
                    pass(services);
                } catch (RuntimeException e) {
                    LOG.debug("Pins are looked at again in a moment: {}", e.toString());
                } finally {
                    running.set(false);
                }
            });
        }
    }

    private static void pass(NodeServices services) {
        for (Versioned<Pin> row : services.state().pins().all()) {
            LocalKvPool pool = services.localPools().get(row.row().pool());
            if (pool != null && row.row().left().isEmpty() && !services.fenced()) {
                look(services, pool, row);
            }
        }
    }

    private static void look(NodeServices services, LocalKvPool pool, Versioned<Pin> row) {
        BlockKey key = row.row().prefix();
        SsdTier tier = services.tiers().get(pool.name());
        boolean here = pool.contains(key) || (tier != null && tier.contains(key));
        boolean own = row.incarnation().equals(services.engine().incarnation());
        if (own && here) {
            if (!pool.isPinnedHard(key)) {
                pin(services, row);
            }
        } else if (own) {
            handOn(services, row);
        } else if (here && !services.members().hasEngine(row.incarnation())) {
            takeOver(services, row);
        }
    }

    private static void takeOver(NodeServices services, Versioned<Pin> row) {
        Set<UUID> others = holders(services, row);
        if (Rendezvous.wins(row.row().prefix(), services.localNodeId(), others)) {
            services.state()
                    .pins()
                    .replace(row, row.row(), services.waits().deadline(PATIENCE))
                    .ifPresent(mine -> {
                        LOG.info(
                                "A pin of a node that has left goes on here: {}",
                                mine.row().key());
                        pin(services, mine);
                    });
        }
    }

    private static void handOn(NodeServices services, Versioned<Pin> row) {
        Set<UUID> others = holders(services, row);
        for (UUID node : others) {
            Optional<Member> member = services.members().find(node);
            if (member.isPresent() && Rendezvous.wins(row.row().prefix(), node, others)) {
                services.state()
                        .pins()
                        .onBehalfOf(member.get())
                        .replace(row, row.row(), services.waits().deadline(PATIENCE));
                return;
            }
        }
    }

    /** Other nodes that have the block and stay. */
    private static Set<UUID> holders(NodeServices services, Versioned<Pin> row) {
        Set<UUID> holders = new TreeSet<>(
                services.index().holders(row.row().pool(), row.row().prefix()));
        holders.removeIf(services.placement()::draining);
        return holders;
    }

    private static void pin(NodeServices services, Versioned<Pin> row) {
        List<BlockKey> one = List.of(row.row().prefix());
        String pool = row.row().pool();
        BlockActs.here(
                services,
                new ActFrame(Action.PIN_HARD, 0, pool, one),
                services.waits().deadline(PATIENCE));
        // Somebody may have unpinned it meanwhile: the row went first then, and this node may have been asked already.
        if (!services.state().pins().isThere(row, services.waits().deadline(PATIENCE))) {
            BlockActs.here(
                    services,
                    new ActFrame(Action.UNPIN, 0, pool, one),
                    services.waits().deadline(PATIENCE));
        }
    }

    @Override
    public void onIgniteStop() {
        if (timer != null) {
            timer.cancel(false);
        }
    }
}
