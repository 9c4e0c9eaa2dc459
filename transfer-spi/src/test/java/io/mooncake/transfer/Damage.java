// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.util.Arrays;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * One damage to the bytes that one side says through a {@link FaultProxy}, at a place counted from when it was ordered, over all connections.
 * It happens once.
 */
final class Damage {
    /** What happens. */
    enum Kind {
        /** One bit changes. */
        FLIP,
        /** Bytes vanish. */
        DROP,
        /** Bytes come twice. */
        DUPLICATE,
        /** Bytes change places with those behind them. */
        REORDER,
        /** The connection ends. */
        TRUNCATE,
        /** Other bytes of the same stream take the place. */
        SPLICE
    }

    private static final int HISTORY_BYTES = 256 << 10;

    final Kind kind;
    final boolean ofOwner;
    final long at;
    final int length;
    private final Random random;
    // Guarded by this.
    private long toGo;
    private @Nullable Stream hit;
    private boolean done;

    private Damage(Kind kind, boolean ofOwner, long at, int length, Random random) {
        this.kind = kind;
        this.ofOwner = ofOwner;
        this.at = at;
        this.length = length;
        this.random = random;
        this.toGo = at;
    }

    /** A damage somewhere in the next {@code bytes} of that side. */
    static Damage random(Random random, Kind kind, boolean ofOwner, long bytes) {
        long at = (long) (random.nextDouble() * bytes);
        int length = random.nextInt(3) == 0 ? 1 + random.nextInt(8000) : 1 + random.nextInt(150);
        return new Damage(kind, ofOwner, at, length, new Random(random.nextLong()));
    }

    /** Whether it has happened. */
    synchronized boolean done() {
        return done;
    }

    @Override
    public String toString() {
        return kind + " of " + length + " bytes at " + at + " from the " + (ofOwner ? "owner" : "reader");
    }

    /** Bytes of one connection in one direction. Used by one thread. */
    static final class Stream {
        private final byte[] history = new byte[HISTORY_BYTES];
        private long seen;
        private byte[] held = new byte[0];

        /** What is passed on instead of {@code bytes}; null when the connection is to end. */
        byte @Nullable [] pass(@Nullable Damage damage, byte[] bytes) {
            byte[] out = damage == null ? bytes : damage.apply(this, bytes);
            for (byte one : bytes) {
                history[(int) (seen++ % HISTORY_BYTES)] = one;
            }
            return out;
        }

        private byte[] earlier(Random random, int count) {
            byte[] copy = new byte[count];
            long known = Math.min(seen, HISTORY_BYTES);
            if (known == 0) {
                random.nextBytes(copy);
                return copy;
            }
            long from = seen - 1 - (long) (random.nextDouble() * known);
            for (int i = 0; i < count; i++) {
                copy[i] = history[(int) ((from + i % (seen - from)) % HISTORY_BYTES)];
            }
            return copy;
        }
    }

    /** Holds bytes back until all that it changes are there. */
    private synchronized byte @Nullable [] apply(Stream stream, byte[] bytes) {
        if (done) {
            return bytes;
        }
        if (hit == null) {
            if (toGo >= bytes.length) {
                toGo -= bytes.length;
                return bytes;
            }
            hit = stream;
        } else if (hit != stream) {
            return bytes;
        }
        byte[] all = Arrays.copyOf(stream.held, stream.held.length + bytes.length);
        System.arraycopy(bytes, 0, all, stream.held.length, bytes.length);
        int from = (int) toGo;
        int needed = from + (kind == Kind.REORDER ? 2 : 1) * (kind == Kind.FLIP ? 1 : length);
        if (all.length < needed && kind != Kind.TRUNCATE) {
            stream.held = all;
            return new byte[0];
        }
        done = true;
        stream.held = new byte[0];
        return changed(stream, all, from);
    }

    private byte @Nullable [] changed(Stream stream, byte[] all, int from) {
        switch (kind) {
            case FLIP -> all[from] ^= (byte) (1 << random.nextInt(8));
            case DROP -> {
                byte[] less = Arrays.copyOf(all, all.length - length);
                System.arraycopy(all, from + length, less, from, all.length - from - length);
                return less;
            }
            case DUPLICATE -> {
                byte[] more = Arrays.copyOf(all, all.length + length);
                System.arraycopy(all, from, more, from + length, all.length - from);
                return more;
            }
            case REORDER -> {
                byte[] first = Arrays.copyOfRange(all, from, from + length);
                System.arraycopy(all, from + length, all, from, length);
                System.arraycopy(first, 0, all, from + length, length);
            }
            case SPLICE -> System.arraycopy(stream.earlier(random, length), 0, all, from, length);
            case TRUNCATE -> {
                return null;
            }
        }
        return all;
    }
}
