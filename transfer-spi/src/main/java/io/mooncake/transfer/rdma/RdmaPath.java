// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

/**
 * The way from one device of this engine to one peer: which device of the peer answers, how fast it was, and whether it rests.
 *
 * <p>A path that failed rests, longer each time, and asks for the peer's next device when it is tried again; one success ends that. Threading:
 * any; methods that change it are synchronized.
 */
final class RdmaPath {
    /** Speeds are taken from transfers of at least this size; smaller ones measure the round trip. */
    static final long MEASURED_BYTES = 1 << 18;

    private static final long FIRST_REST_NANOS = 250_000_000L;
    private static final int MAX_DOUBLINGS = 5;
    private static final double NEW_WEIGHT = 0.3;

    private final RdmaPort port;
    private volatile int wantedRail;
    private volatile int peerRails = 1;
    private volatile int failures;
    private volatile long restUntilNanos;
    /** Bytes a nanosecond and connection; 0: not measured yet. */
    private volatile double speed;

    RdmaPath(RdmaPort port) {
        this.port = port;
        this.wantedRail = port.index();
    }

    RdmaPort port() {
        return port;
    }

    /** The peer's device to ask for. */
    int wantedRail() {
        return wantedRail;
    }

    /** The peer has said how many devices it has. */
    void peerHas(int rails) {
        peerRails = rails;
    }

    /** Whether batches take it. */
    boolean usable() {
        return failures == 0 && port.active();
    }

    /** Whether it failed when it was last tried. */
    boolean resting() {
        return failures > 0;
    }

    /** On {@link System#nanoTime()}. */
    long restUntilNanos() {
        return restUntilNanos;
    }

    /** It has carried something. */
    void worked() {
        failures = 0;
    }

    /** It has failed; how long it is to rest. */
    synchronized long failed(long nowNanos) {
        long rest = FIRST_REST_NANOS << Math.min(MAX_DOUBLINGS, failures);
        failures++;
        restUntilNanos = nowNanos + rest;
        wantedRail = (wantedRail + 1) % peerRails;
        return rest;
    }

    /** A connection of it has moved so much in so long. */
    synchronized void measured(long bytes, long nanos) {
        if (bytes >= MEASURED_BYTES && nanos > 0) {
            double now = (double) bytes / nanos;
            speed = speed == 0 ? now : speed + NEW_WEIGHT * (now - speed);
        }
    }

    /** Bytes a nanosecond of one connection; 0 when it is not known. */
    double speed() {
        return speed;
    }

    /** What was never measured comes before what is fastest. */
    double rank() {
        double now = speed;
        return now == 0 ? Double.MAX_VALUE : now;
    }

    @Override
    public String toString() {
        return port + " to rail " + wantedRail + (failures == 0 ? "" : ", failed " + failures + " times");
    }
}
