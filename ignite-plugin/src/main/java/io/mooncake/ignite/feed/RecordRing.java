// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Queue;
import java.util.function.IntFunction;

/**
 * The last events of a stream, as {@link FeedRecords} off the heap. They lie in pieces, one for each frame that is published, and the pieces in chunks
 * that are used in turn: the oldest pieces go when the chunk that they lie in is used again. Those that nobody took until then wait on the heap, as
 * much as the ring itself has; what is more is never told, and followers, who see the gap, take a snapshot.
 *
 * <p>Threading: guarded by its owner.
 */
final class RecordRing {
    /** Most events of a piece. */
    static final int PIECE_EVENTS = 1024;

    private static final int PIECE_BYTES = 128 << 10;
    private static final long MIN_BEHIND_BYTES = 4 << 20;

    /** Events that are told in one go: the first is not chained. */
    private static final class Piece {
        private final long first;
        private final int chunk;
        private final int offset;
        private int count;
        private int length;

        Piece(long first, int chunk, int offset) {
            this.first = first;
            this.chunk = chunk;
            this.offset = offset;
        }
    }

    private final long maxBehindBytes;
    private final ByteBuffer[] chunks;
    private final ArrayDeque<Piece> pieces = new ArrayDeque<>();
    /** Pieces that were not taken before their chunk was used again: who takes them is late. */
    private final ArrayDeque<Run> behind = new ArrayDeque<>();

    private long behindBytes;

    private final EventCursor writer = new EventCursor();
    private int chunk;
    /** Whether the last piece may grow. */
    private boolean open;

    private long next = 1;
    /** Sequence of the first event that was not taken yet. */
    private long taken = 1;

    /**
     * Takes all of its memory.
     *
     * @param chunkBytes room for the longest record at least
     * @throws MooncakeException EXHAUSTED when there is not so much
     */
    RecordRing(int chunkBytes, int chunks) {
        this(chunkBytes, chunks, Math.max(MIN_BEHIND_BYTES, (long) chunkBytes * chunks), ByteBuffer::allocateDirect);
    }

    /**
     * @param maxBehindBytes on the heap
     * @param memory gives so many bytes
     */
    RecordRing(int chunkBytes, int chunks, long maxBehindBytes, IntFunction<ByteBuffer> memory) {
        this.maxBehindBytes = maxBehindBytes;
        this.chunks = new ByteBuffer[chunks];
        try {
            // Not when an event comes: it would be lost, and nobody would know.
            Arrays.setAll(this.chunks, i -> memory.apply(chunkBytes));
        } catch (OutOfMemoryError e) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED,
                    "feedRing: " + (long) chunkBytes * chunks
                            + " bytes for a pool (expected: as much direct memory, see -XX:MaxDirectMemorySize)",
                    e);
        }
    }

    /** Sequence of the next event. */
    long next() {
        return next;
    }

    /** Sequence of the first event that was not taken yet. */
    long taken() {
        return taken;
    }

    /** Sequence of the first event that is still here. */
    long oldest() {
        Piece piece = pieces.peekFirst();
        return piece == null ? next : piece.first;
    }

    /** Numbers {@code event} and keeps it. */
    void append(BlockEvent event) {
        writer.set(event);
        int most = FeedRecords.maxBytes(event.tokens().length);
        Piece piece = pieces.peekLast();
        if (piece == null
                || !open
                || piece.count >= PIECE_EVENTS
                || piece.length >= PIECE_BYTES
                || most > chunks[chunk].remaining()) {
            piece = begin(most);
        }
        FeedRecords.write(chunks[chunk], writer);
        piece.length = chunks[chunk].position() - piece.offset;
        piece.count++;
        next++;
    }

    private Piece begin(int bytes) {
        if (bytes > chunks[chunk].remaining()) {
            chunk = (chunk + 1) % chunks.length;
            while (!pieces.isEmpty() && pieces.getFirst().chunk == chunk) {
                Piece oldest = pieces.removeFirst();
                if (oldest.first >= taken) {
                    keepBehind(run(oldest));
                }
            }
            chunks[chunk].clear();
        }
        Piece piece = new Piece(next, chunk, chunks[chunk].position());
        pieces.addLast(piece);
        writer.clear();
        open = true;
        return piece;
    }

    private void keepBehind(Run run) {
        behind.add(run);
        behindBytes += run.records().remaining();
        while (behindBytes > maxBehindBytes) {
            behindBytes -= behind.remove().records().remaining();
        }
    }

    /** A run of events: what {@link #copy} found. */
    record Run(long first, int count, ByteBuffer records) {}

    /** Takes the events that were not taken yet, a piece each, into {@code runs}. */
    void take(Queue<Run> runs) {
        open = false;
        runs.addAll(behind);
        behind.clear();
        behindBytes = 0;
        if (taken == next) {
            return;
        }
        for (Piece piece : pieces) {
            if (piece.first >= taken) {
                runs.add(run(piece));
            }
        }
        taken = next;
    }

    /**
     * Events from {@code from}, or some before it, up to {@code to - 1}, or some more, as far as {@code maxBytes} go.
     *
     * @param from that of an event that is here
     */
    Run copy(long from, long to, int maxBytes) {
        long first = from;
        int count = 0;
        int bytes = 0;
        for (Piece piece : pieces) {
            if (piece.first + piece.count <= from) {
                continue;
            }
            if (count > 0 && (piece.first >= to || bytes + piece.length > maxBytes)) {
                break;
            }
            first = count == 0 ? piece.first : first;
            count += piece.count;
            bytes += piece.length;
        }
        ByteBuffer records = ByteBuffer.allocate(bytes);
        Iterator<Piece> all = pieces.iterator();
        while (all.hasNext() && records.hasRemaining()) {
            Piece piece = all.next();
            if (piece.first >= first) {
                records.put(copy(piece));
            }
        }
        return new Run(first, count, records.flip());
    }

    private Run run(Piece piece) {
        return new Run(piece.first, piece.count, copy(piece));
    }

    private ByteBuffer copy(Piece piece) {
        byte[] bytes = new byte[piece.length];
        chunks[piece.chunk].get(piece.offset, bytes);
        return ByteBuffer.wrap(bytes);
    }
}
