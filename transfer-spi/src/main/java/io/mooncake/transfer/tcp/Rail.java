// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.topology.RailNumber;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One way to one life of a peer: an address here, an address there, and the connections between them. Everything but the speed and the
 * counters is guarded by the lock of its {@link TcpPeerLink}.
 *
 * <p>A rail that failed rests: no slice goes over it until a probe has found it well again, or until no other rail is left to try.
 */
final class Rail {
    static final long FIRST_REST_NANOS = 500_000_000L;
    static final long LONGEST_REST_NANOS = 5_000_000_000L;

    /** Weight of the newest sample of the speed. */
    private static final double NEWEST = 0.25;

    /** Less than this, in less time, may have come out of some buffer at once. */
    private static final long GOOD_SAMPLE_BYTES = 1 << 20;

    private static final long GOOD_SAMPLE_NANOS = 5_000_000;

    final int index;
    /** Of the address here, among the engine's own. */
    final int localBit;
    /** In the matrix of paths. */
    final int number;

    final String host;
    final @Nullable InetAddress from;
    final LongAdder bytes = new LongAdder();
    final LongAdder failures = new LongAdder();

    final ArrayDeque<TcpClientConnection> idle = new ArrayDeque<>();
    final List<TcpClientConnection> connections = new ArrayList<>();
    /** Connections, and those being made. */
    int open;

    boolean resting;
    boolean probing;
    long probeAtNanos;
    private long restNanos = FIRST_REST_NANOS;

    /** Bytes a second of one connection; 0 when not known. Written by whoever has a sample: a lost one does no harm. */
    private volatile double speed;

    /** Whether anything has come over it, be it too little to know the speed. */
    private volatile boolean tried;

    Rail(int index, int localBit, String host, @Nullable InetAddress from) {
        this.index = index;
        this.localBit = localBit;
        this.number = RailNumber.ofTcp(index);
        this.host = host;
        this.from = from;
    }

    void moved(long count, long nanos) {
        tried = true;
        if (count < GOOD_SAMPLE_BYTES && nanos < GOOD_SAMPLE_NANOS) {
            return;
        }
        double sample = count * 1e9 / Math.max(1, nanos);
        double known = speed;
        speed = known == 0 ? sample : known + NEWEST * (sample - known);
    }

    /** Bytes a second of one connection, or 0. */
    double speed() {
        return speed;
    }

    /** It was passed over because it is slow: it is thought a little faster, so that it is tried again some day. */
    void passedOver() {
        speed = speed * 1.02;
    }

    boolean tried() {
        return tried;
    }

    int busy() {
        return open - idle.size();
    }

    void rest(long nowNanos) {
        resting = true;
        probeAtNanos = nowNanos + restNanos;
        restNanos = Math.min(2 * restNanos, LONGEST_REST_NANOS);
    }

    /** Well again; what is known of its speed is from before. */
    void back() {
        resting = false;
        restNanos = FIRST_REST_NANOS;
        speed = 0;
        tried = false;
    }

    RailStatistics statistics() {
        return new RailStatistics(
                from == null ? "" : from.getHostAddress(),
                host,
                bytes.sum(),
                failures.sum(),
                (long) (speed * Math.max(1, open)),
                resting);
    }
}
