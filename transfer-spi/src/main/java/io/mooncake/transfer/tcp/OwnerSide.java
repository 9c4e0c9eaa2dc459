// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The data connections that peers hold to this engine, and what they share: the turnstile, the budget of writes.
 *
 * <p>Safe for all threads. Each connection is served on the thread that brings it.
 */
final class OwnerSide {
    /** Data connections served at a time. */
    static final int MAX_SERVED = 512;

    /** Bytes of writes that all peers together may have under way to this engine, if they keep to their credits. */
    private static final int WRITE_BUDGET_BYTES = 64 << 20;

    private static final int MAX_WRITE_CREDIT_BYTES = 4 << 20;
    private static final int MIN_PLACES = 8;
    private static final long LOG_PAUSE_NANOS = 10_000_000_000L;
    private static final Logger LOG = LoggerFactory.getLogger(OwnerSide.class);

    private final Watchdog watchdog;
    private final RegionRegistry regions;
    private final Capabilities capabilities;
    private final AccessCheck check;
    private final Counters counters;
    private final Turnstile turnstile =
            new Turnstile(Math.max(MIN_PLACES, 2 * Runtime.getRuntime().availableProcessors()));
    private final PeerConduct conduct;
    private final Set<TcpServerConnection> served = ConcurrentHashMap.newKeySet();
    private final AtomicLong loggedAtNanos = new AtomicLong(System.nanoTime() - LOG_PAUSE_NANOS);

    OwnerSide(
            Watchdog watchdog,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            Counters counters,
            PeerConduct conduct) {
        this.watchdog = watchdog;
        this.regions = regions;
        this.capabilities = capabilities;
        this.check = new AccessCheck(checks);
        this.counters = counters;
        this.conduct = conduct;
        conduct.onPutOut(this::cut);
    }

    Watchdog watchdog() {
        return watchdog;
    }

    RegionRegistry regions() {
        return regions;
    }

    Capabilities capabilities() {
        return capabilities;
    }

    AccessCheck check() {
        return check;
    }

    Counters counters() {
        return counters;
    }

    Turnstile turnstile() {
        return turnstile;
    }

    PeerConduct conduct() {
        return conduct;
    }

    /**
     * Serves an authenticated channel on the calling thread until it ends.
     *
     * @param meanwhile called when the connection is known here and can be cut
     */
    void serve(PeerChannel channel, UUID peer, Consumer<TcpServerConnection> meanwhile) {
        if (conduct.keptOut(peer) || !makeRoom(peer)) {
            Quietly.close(channel);
            return;
        }
        TcpServerConnection connection = new TcpServerConnection(this, channel, peer);
        served.add(connection);
        try {
            meanwhile.accept(connection);
            connection.serve();
        } finally {
            served.remove(connection);
        }
    }

    /** Whether there is room for one more connection of {@code peer}; where all is taken, who holds most gives one up. */
    private boolean makeRoom(UUID peer) {
        if (served.size() < MAX_SERVED) {
            return true;
        }
        Map<UUID, List<TcpServerConnection>> byPeer = new HashMap<>();
        served.forEach(one ->
                byPeer.computeIfAbsent(one.peer(), id -> new ArrayList<>()).add(one));
        int own = byPeer.getOrDefault(peer, List.of()).size();
        List<TcpServerConnection> most = byPeer.values().stream()
                .max((a, b) -> Integer.compare(a.size(), b.size()))
                .orElse(List.of());
        boolean given = most.size() > own + 1;
        if (given) {
            most.get(0).cut();
        }
        long last = loggedAtNanos.get();
        long now = System.nanoTime();
        if (now - last >= LOG_PAUSE_NANOS && loggedAtNanos.compareAndSet(last, now)) {
            LOG.warn(
                    "All {} data connections are taken, {} by one peer: one of {} {}",
                    MAX_SERVED,
                    most.size(),
                    peer,
                    given ? "takes the place of one of those" : "is closed");
        }
        return given;
    }

    /** What each connection may have unanswered in writes: its part of the budget. */
    int writeCreditBytes() {
        int share = WRITE_BUDGET_BYTES / Math.max(1, served.size());
        return Math.max(TcpFrameDescriptor.CREDIT_UNIT_BYTES, Math.min(MAX_WRITE_CREDIT_BYTES, share));
    }

    void forEach(Consumer<TcpServerConnection> action) {
        served.forEach(action);
    }

    /**
     * Closes the connections that may still write into a range whose generation has moved on, all before any is waited for: bytes that
     * arrive while a thread waits for them are where they go to before anybody can look at the generation.
     *
     * @return whether there were any; they have left the range when none is found
     */
    boolean revoke(Region region, long offset, long length) {
        boolean any = false;
        for (TcpServerConnection connection : served) {
            if (connection.mayStillWrite(region, offset, length)) {
                connection.cut();
                any = true;
            }
        }
        return any;
    }

    /** Closes every connection of {@code peer}. */
    void cut(UUID peer) {
        served.forEach(connection -> {
            if (connection.peer().equals(peer)) {
                connection.cut();
            }
        });
    }
}
