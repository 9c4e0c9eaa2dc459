// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;

/**
 * Round trip and bandwidth to each peer over each rail, as transfers measured them, and from that how long a transfer will take.
 *
 * <p>A transfer of at most {@value #SMALL_BYTES} bytes measures the round trip, one of at least {@value #LARGE_BYTES} the bandwidth: what is
 * left of its time; where it went by several rails, each is credited with its share. New values count for an eighth. A rail that fails is
 * unmeasured again. A peer without measurements is expected to be like the measured ones that are as near, else as a network of that reach
 * commonly is.
 *
 * <p>The rails of one kind ({@link RailNumber}) carry a transfer together, so a peer's bandwidth is their sum and its round trip that of the
 * best; kinds take turns, so what counts is the kind that was measured last.
 *
 * <p>A transfer that did not end by its deadline says how fast a peer is at most, and is believed at once: whoever keeps its callers waiting
 * would never be measured otherwise. That is forgotten by and by, for nobody asks such a peer where there is another, and at once when a
 * transfer ends.
 *
 * <p>Threading: safe for all threads; observations may overwrite each other, so now and then one is lost. {@link #observe} of a known peer
 * allocates nothing.
 */
public final class PathMatrix {
    /** Largest transfer that measures the round trip. */
    public static final long SMALL_BYTES = 64 << 10;

    /** Smallest transfer that measures bandwidth. */
    public static final long LARGE_BYTES = 256 << 10;

    /** Rails a peer, numbered by {@link RailNumber}. */
    public static final int MAX_RAILS = RailNumber.COUNT;

    private static final int WEIGHT = 8;
    private static final long NANOS = 1_000_000_000L;
    /** In this time something should have come. */
    private static final long LONG_NANOS = 200_000_000L;
    /** A limit holds for this long; after each such time, twice as much is thought possible. */
    private static final long FORGET_NANOS = 10_000_000_000L;

    private final ConcurrentHashMap<UUID, Row> rows = new ConcurrentHashMap<>();
    private final LongSupplier nanoClock;

    public PathMatrix() {
        this(System::nanoTime);
    }

    /** @param nanoClock monotonic */
    public PathMatrix(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /** Two words a rail: nanoseconds of a round trip, bytes a second; 0 is unmeasured. */
    private static final class Row {
        private final AtomicLongArray words = new AtomicLongArray(2 * MAX_RAILS);
        /** First rail of the kind that was measured last. */
        private volatile int kind;
        /** Bytes a second that an unfinished transfer left possible; 0 where the latest one ended. */
        private volatile double limit;

        private volatile long limitedNanos;

        long roundTripNanos(int rail) {
            return words.get(2 * rail);
        }

        long bytesPerSecond(int rail) {
            return words.get(2 * rail + 1);
        }

        void mix(int word, long value) {
            kind = RailNumber.firstOfKind(word / 2);
            if (limit != 0) {
                limit = 0;
            }
            long old = words.get(word);
            words.set(word, Math.max(1, old == 0 ? value : old + (value - old) / WEIGHT));
        }

        /** Of the kind measured last; of any where that kind has none. */
        long bestRoundTrip() {
            int first = kind;
            long best = bestRoundTrip(first, first + RailNumber.MAX_OF_KIND);
            return best == 0 ? bestRoundTrip(0, MAX_RAILS) : best;
        }

        private long bestRoundTrip(int from, int to) {
            long best = 0;
            for (int rail = from; rail < Math.min(to, MAX_RAILS); rail++) {
                long one = roundTripNanos(rail);
                best = best == 0 || (one > 0 && one < best) ? one : best;
            }
            return best;
        }

        /** Sum of the rails of the kind measured last; of the best kind where that has none. */
        long bytesPerSecond() {
            long sum = sum(kind);
            for (int first = 0; first < MAX_RAILS && sum == 0; first += RailNumber.MAX_OF_KIND) {
                sum = Math.max(sum, sum(first));
            }
            return sum;
        }

        private long sum(int first) {
            long sum = 0;
            for (int rail = first; rail < Math.min(first + RailNumber.MAX_OF_KIND, MAX_RAILS); rail++) {
                sum += bytesPerSecond(rail);
            }
            return sum;
        }
    }

    /**
     * What is known of one rail to one peer.
     *
     * @param peer incarnation
     * @param rail its {@link RailNumber}
     * @param roundTripNanos time of a small transfer; 0: not measured
     * @param bytesPerSecond 0: not measured
     */
    public record Entry(UUID peer, int rail, long roundTripNanos, long bytesPerSecond) {
        /** The rail for people, see {@link RailNumber#name}. */
        public String railName() {
            return RailNumber.name(rail);
        }
    }

    /**
     * A peer and how near it is.
     *
     * @param peer incarnation
     * @param closeness from this node
     */
    public record Candidate(UUID peer, Locality.Closeness closeness) {}

    /**
     * A transfer with {@code peer} over {@code rail} moved {@code bytes} in {@code nanos}.
     *
     * @param rail 0..{@value #MAX_RAILS} - 1; others are not counted
     */
    public void observe(UUID peer, int rail, long bytes, long nanos) {
        if (sound(rail, bytes, nanos)) {
            if (bytes <= SMALL_BYTES) {
                row(peer).mix(2 * rail, nanos);
            } else if (bytes >= LARGE_BYTES) {
                mixSpeed(row(peer), rail, bytes, nanos);
            }
        }
    }

    /**
     * A transfer that went by several rails and took {@code nanos} moved {@code bytes} of its bytes over {@code rail}. Shares of at most
     * {@value #SMALL_BYTES} bytes say nothing.
     *
     * @param rail 0..{@value #MAX_RAILS} - 1; others are not counted
     */
    public void observeShare(UUID peer, int rail, long bytes, long nanos) {
        if (sound(rail, bytes, nanos) && bytes > SMALL_BYTES) {
            mixSpeed(row(peer), rail, bytes, nanos);
        }
    }

    private static boolean sound(int rail, long bytes, long nanos) {
        return rail >= 0 && rail < MAX_RAILS && bytes >= 1 && nanos >= 1;
    }

    private Row row(UUID peer) {
        Row row = rows.get(peer);
        return row == null ? rows.computeIfAbsent(peer, id -> new Row()) : row;
    }

    private static void mixSpeed(Row row, int rail, long bytes, long nanos) {
        long moving = Math.max(1, Math.max(nanos / 2, nanos - row.roundTripNanos(rail)));
        row.mix(2 * rail + 1, (long) ((double) bytes * NANOS / moving));
    }

    /** That rail failed: it is not counted upon until it is measured again. */
    public void failed(UUID peer, int rail) {
        Row row = rows.get(peer);
        if (row != null && rail >= 0 && rail < MAX_RAILS) {
            row.words.set(2 * rail, 0);
            row.words.set(2 * rail + 1, 0);
        }
    }

    /**
     * A transfer of {@code bytes} with {@code peer} had not ended after {@code nanos}.
     *
     * @param moved bytes that had arrived by then
     */
    public void unfinished(UUID peer, long bytes, long moved, long nanos) {
        if (bytes < 1 || nanos < 1) {
            return;
        }
        // A short time says no more than that it was too short.
        long atMost = nanos < LONG_NANOS ? bytes : Math.min(bytes, Math.max(1, moved));
        Row row = row(peer);
        row.limitedNanos = nanoClock.getAsLong();
        row.limit = (double) atMost * NANOS / nanos;
    }

    /** That life of a peer is over. */
    public void forget(UUID peer) {
        rows.remove(peer);
    }

    /** Expected nanoseconds until {@code bytes} from or to {@code peer} have moved, over all its rails. */
    public long estimateNanos(UUID peer, Locality.Closeness closeness, long bytes) {
        return estimate(rows.get(peer), closeness, bytes, List.of());
    }

    /**
     * {@code candidates}, the one first that is expected to move {@code bytes} soonest. Of equals the nearer one comes first, then the order
     * given, so callers rotate it.
     */
    public List<Candidate> rank(List<Candidate> candidates, long bytes) {
        Map<Candidate, Long> expected = new java.util.HashMap<>();
        for (Candidate one : candidates) {
            expected.put(one, estimate(rows.get(one.peer()), one.closeness(), bytes, candidates));
        }
        List<Candidate> ranked = new ArrayList<>(candidates);
        ranked.sort(Comparator.<Candidate>comparingLong(expected::get).thenComparing(Candidate::closeness));
        return ranked;
    }

    private long estimate(
            @org.jspecify.annotations.Nullable Row row,
            Locality.Closeness closeness,
            long bytes,
            List<Candidate> others) {
        long roundTrip = row == null ? 0 : row.bestRoundTrip();
        long speed = row == null ? 0 : row.bytesPerSecond();
        if (roundTrip == 0 || speed == 0) {
            Map<Locality.Closeness, Commonly> alike = alike(others);
            Commonly common = alike.getOrDefault(closeness, commonly(closeness));
            roundTrip = roundTrip == 0 ? common.roundTripNanos : roundTrip;
            speed = speed == 0 ? common.bytesPerSecond : speed;
        }
        return roundTrip + (long) ((double) bytes * NANOS / Math.min(speed, row == null ? speed : limit(row)));
    }

    private double limit(Row row) {
        double limit = row.limit;
        if (limit == 0) {
            return Double.MAX_VALUE;
        }
        double times = (double) (nanoClock.getAsLong() - row.limitedNanos) / FORGET_NANOS;
        return times <= 1 ? limit : limit * Math.pow(2, Math.min(60, times - 1));
    }

    private record Commonly(long roundTripNanos, long bytesPerSecond) {}

    /** Means of the fully measured candidates of each closeness; what is wrong with one says nothing of the others. */
    private Map<Locality.Closeness, Commonly> alike(List<Candidate> candidates) {
        Map<Locality.Closeness, long[]> sums = new EnumMap<>(Locality.Closeness.class);
        for (Candidate one : candidates) {
            Row row = rows.get(one.peer());
            if (row != null && row.limit == 0 && row.bestRoundTrip() > 0 && row.bytesPerSecond() > 0) {
                long[] sum = sums.computeIfAbsent(one.closeness(), key -> new long[3]);
                sum[0] += row.bestRoundTrip();
                sum[1] += row.bytesPerSecond();
                sum[2]++;
            }
        }
        Map<Locality.Closeness, Commonly> means = new EnumMap<>(Locality.Closeness.class);
        sums.forEach((key, sum) -> means.put(key, new Commonly(sum[0] / sum[2], sum[1] / sum[2])));
        return means;
    }

    /** Memory of one machine, 10 Gbit/s in a rack and a zone, 1 Gbit/s beyond. */
    private static Commonly commonly(Locality.Closeness closeness) {
        return switch (closeness) {
            case SAME_HOST -> new Commonly(30_000, 4_000_000_000L);
            case SAME_RACK -> new Commonly(100_000, 1_000_000_000L);
            case SAME_ZONE -> new Commonly(300_000, 1_000_000_000L);
            case ELSEWHERE -> new Commonly(2_000_000, 100_000_000L);
        };
    }

    /** Everything that was measured, by peer and rail. */
    public List<Entry> entries() {
        List<Entry> entries = new ArrayList<>();
        rows.forEach((peer, row) -> {
            for (int rail = 0; rail < MAX_RAILS; rail++) {
                if (row.roundTripNanos(rail) > 0 || row.bytesPerSecond(rail) > 0) {
                    entries.add(new Entry(peer, rail, row.roundTripNanos(rail), row.bytesPerSecond(rail)));
                }
            }
        });
        entries.sort(Comparator.comparing(Entry::peer).thenComparingInt(Entry::rail));
        return entries;
    }
}
