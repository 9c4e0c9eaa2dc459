// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.GrantedLease;
import io.mooncake.transfer.LeaseSource;
import io.mooncake.transfer.LeaseSource.Pin;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.internal.LeaseFrameDescriptor.Request;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leases that this engine granted.
 *
 * <p>A lease is in {@code granted} from the grant until the first of: its release, its expiry plus margin, its holder's end, the engine's
 * end. Whoever removes it from the map closes its pins, so that happens once. The term is counted on this process's monotonic clock; the
 * holder counts its own from before it asked, so it stops earlier; the margin covers clocks that run at different rates and a thread of
 * the data plane that checked just before the end.
 */
public final class LeaseTable implements AutoCloseable {
    /** How much longer than promised pins are kept. */
    static final long MARGIN_NANOS = 250_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(LeaseTable.class);
    private static final int MAX_LEASES = 100_000;
    /** A segment is verified in one piece, so it must fit one access on the wire. */
    private static final int MAX_SEGMENT_BYTES = 1 << 30;

    private static final long MIN_TERM_NANOS = 10_000_000L;

    private final Capabilities capabilities;
    private final RegionRegistry regions;
    private final Counters counters;
    private final long maxTermNanos;
    private final ConcurrentHashMap<Long, Granted> granted = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();
    private final ScheduledExecutorService janitor;
    private final LongSupplier nanoClock;
    private volatile @Nullable LeaseSource source;
    private volatile boolean closed;

    private record Granted(UUID holder, List<Pin> pins, long expiresAt) {
        long bytes() {
            long bytes = 0;
            for (Pin pin : pins) {
                bytes += pin.length();
            }
            return bytes;
        }
    }

    public LeaseTable(Capabilities capabilities, RegionRegistry regions, Counters counters, long maxLeaseMillis) {
        this(capabilities, regions, counters, maxLeaseMillis, System::nanoTime, ownThread());
    }

    /**
     * @param nanoClock monotonic nanoseconds
     * @param janitor ends leases that were not released in time; closed with this
     */
    public LeaseTable(
            Capabilities capabilities,
            RegionRegistry regions,
            Counters counters,
            long maxLeaseMillis,
            LongSupplier nanoClock,
            ScheduledExecutorService janitor) {
        this.capabilities = capabilities;
        this.regions = regions;
        this.counters = counters;
        this.maxTermNanos = TimeUnit.MILLISECONDS.toNanos(maxLeaseMillis);
        this.nanoClock = nanoClock;
        this.janitor = janitor;
    }

    private static ScheduledExecutorService ownThread() {
        ScheduledThreadPoolExecutor one = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "mooncake-leases");
            thread.setDaemon(true);
            return thread;
        });
        one.setRemoveOnCancelPolicy(true);
        one.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        return one;
    }

    public synchronized void serve(LeaseSource newSource) {
        if (source != null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "leases are served already");
        }
        source = newSource;
    }

    /** Answers a lease request. */
    public byte[] grant(UUID holder, byte[] payload) {
        Request request = LeaseFrameDescriptor.decodeRequest(payload);
        LeaseSource asked = source;
        if (asked == null) {
            throw new MooncakeException(MooncakeException.Code.NOT_FOUND, "this node leases nothing");
        }
        if (granted.size() >= MAX_LEASES) {
            throw new MooncakeException(MooncakeException.Code.EXHAUSTED, MAX_LEASES + " leases are open");
        }
        long term = Math.max(MIN_TERM_NANOS, Math.min(maxTermNanos, request.termNanos()));
        List<@Nullable Pin> pins = new ArrayList<>(asked.pin(holder, request.namespace(), request.keys()));
        try {
            return grant(holder, request, term, pins);
        } catch (RuntimeException e) {
            pins.forEach(pin -> closeQuietly(pin));
            throw e;
        }
    }

    private byte[] grant(UUID holder, Request request, long term, List<@Nullable Pin> pins) {
        if (pins.size() != request.keys().size()) {
            throw new MooncakeException(
                    MooncakeException.Code.INTERNAL,
                    "pins: " + pins.size() + " (expected: " + request.keys().size() + ")");
        }
        RemoteHandle[] handles = new RemoteHandle[pins.size()];
        long[] generationOffsets = new long[pins.size()];
        BitSet deferred = new BitSet();
        List<Pin> kept = new ArrayList<>(pins.size());
        long expiresAt = nanoClock.getAsLong() + term;
        int bytes = LeaseFrameDescriptor.REPLY_HEADER_BYTES + pins.size();
        for (int i = 0; i < handles.length; i++) {
            Pin pin = pins.get(i);
            if (pin == null) {
                continue;
            }
            Region region = requireSound(pin);
            generationOffsets[i] = region.generationOffset(pin.offset(), pin.length());
            bytes += LeaseFrameDescriptor.elementBytes(pin);
            if (bytes > ControlPlane.MAX_PAYLOAD_BYTES) {
                // What does not fit into one reply is left out and marked, so that the reader asks again.
                deferred.set(i);
                pins.set(i, null);
                closeQuietly(pin);
                continue;
            }
            handles[i] = capabilities.issue(
                    holder, pin.region(), pin.generation(), pin.offset(), pin.length(), false, expiresAt);
            kept.add(pin);
        }
        long lease = ids.incrementAndGet();
        byte[] reply = LeaseFrameDescriptor.encodeReply(lease, term, pins, handles, generationOffsets, deferred);
        granted.put(lease, new Granted(holder, kept, expiresAt));
        counters.leasesGranted.add(kept.size());
        if (closed) {
            end(lease);
        } else {
            janitor.schedule(() -> end(lease), term + MARGIN_NANOS, TimeUnit.NANOSECONDS);
        }
        return reply;
    }

    private Region requireSound(Pin pin) {
        Region region = regions.find(pin.region());
        boolean sound = region != null
                && region.containsRange(pin.offset(), pin.length())
                && pin.segmentLength() >= 1
                && pin.segmentLength() <= MAX_SEGMENT_BYTES
                && pin.segmentLength() * (long) pin.checksums().length == pin.length()
                && pin.description().length <= LeaseFrameDescriptor.MAX_DESCRIPTION_BYTES;
        if (!sound || region == null) {
            throw new MooncakeException(
                    MooncakeException.Code.INTERNAL,
                    "pin: region " + pin.region() + " " + pin.offset() + "+" + pin.length() + ", segments "
                            + pin.checksums().length + " of " + pin.segmentLength()
                            + " (expected: a range of a registered region, cut into whole segments)");
        }
        return region;
    }

    /** The holder is done. */
    public void release(UUID holder, byte[] payload) {
        LeaseFrameDescriptor.Release release = LeaseFrameDescriptor.decodeRelease(payload);
        Granted found = granted.get(release.lease());
        if (found != null && found.holder.equals(holder)) {
            // Reads of mapped memory are not seen here; the reader says what it took.
            counters.bytesServed.add(Math.max(0, release.copiedBytes()));
            end(release.lease());
        }
    }

    /** The leases that have not ended, read as the iteration goes; those that begin or end meanwhile may be among them. Takes no lock. */
    public Iterator<GrantedLease> open() {
        Iterator<Map.Entry<Long, Granted>> entries = granted.entrySet().iterator();
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return entries.hasNext();
            }

            @Override
            public GrantedLease next() {
                Map.Entry<Long, Granted> entry = entries.next();
                Granted lease = entry.getValue();
                long left = Math.max(0, lease.expiresAt - nanoClock.getAsLong());
                return new GrantedLease(entry.getKey(), lease.holder, lease.pins.size(), lease.bytes(), left);
            }
        };
    }

    /** Ends every lease of a holder. */
    public void peerGone(UUID holder) {
        granted.forEach((lease, one) -> {
            if (one.holder.equals(holder)) {
                end(lease);
            }
        });
    }

    private void end(long lease) {
        Granted ended = granted.remove(lease);
        if (ended != null) {
            counters.leasesEnded.add(ended.pins.size());
            ended.pins.forEach(LeaseTable::closeQuietly);
        }
    }

    private static void closeQuietly(@Nullable Pin pin) {
        if (pin == null) {
            return;
        }
        try {
            pin.close();
        } catch (RuntimeException e) {
            LOG.warn("A pin failed to close", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        janitor.shutdownNow();
        granted.keySet().forEach(this::end);
    }
}
