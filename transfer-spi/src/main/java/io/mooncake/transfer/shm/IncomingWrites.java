// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.StatusCodes;
import io.mooncake.transfer.internal.WritesUnderWay;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Copies what one peer wants written out of that peer's mapped memory, on a thread of its own, see {@link MailboxDescriptor}. The checks are
 * those of a write by TCP: before the first byte, between pieces and after the last one. The peer could change a request while it is
 * worked on, so each field is read once.
 *
 * <p>Peers have a thread each, so none waits for another's copies. Data plane: allocates nothing once it runs, logs nothing.
 */
final class IncomingWrites {
    private static final long SLEEP_NANOS = 200_000_000;
    private static final long STOP_NANOS = 1_000_000_000;
    private static final byte CANCELED = (byte) StatusCodes.code(TransferStatus.CANCELED);

    /** What serves all peers of an engine. */
    record Services(
            UUID incarnation,
            RegionRegistry regions,
            Capabilities capabilities,
            AccessCheck check,
            Counters counters,
            PeerConduct conduct) {}

    private final Services services;
    private final PeerLink link;
    private final Uses held;
    private final SharedPage own;
    private final MappedPage theirs;
    private final int ownMailbox;
    private final int theirMailbox;
    private final long theirOffset;
    private final long ownOffset;
    private final long asks;
    private final long answers;
    private final Capabilities.Verifier verifier;
    private final long[] answered = new long[MailboxDescriptor.REQUESTS];
    private final byte[] statuses = new byte[MailboxDescriptor.ENTRIES];
    private volatile boolean stopped;
    private volatile boolean copying;

    // The entry that is worked on.
    private long request;
    private long sequence;
    private final Claim claim = new Claim();
    private final WritesUnderWay.Writer writer;
    private int sourceRegion;
    private long sourceOffset;
    /** Why the entry was refused, or null. */
    private @Nullable RefusalCause refusal;

    /**
     * @param held a use, which this takes over, that keeps both pages mapped and the own mailbox from another peer
     * @param own this engine's page, and in it the mailbox for the peer
     * @param theirs the peer's page, and in it the mailbox for this engine
     */
    IncomingWrites(
            Services services,
            PeerLink link,
            Uses held,
            SharedPage own,
            int ownMailbox,
            MappedPage theirs,
            int theirMailbox) {
        this.services = services;
        this.link = link;
        this.held = held;
        this.own = own;
        this.theirs = theirs;
        this.ownMailbox = ownMailbox;
        this.theirMailbox = theirMailbox;
        this.ownOffset = SharedPageDescriptor.mailbox(ownMailbox);
        this.theirOffset = SharedPageDescriptor.mailbox(theirMailbox);
        this.answers = own.file().address() + ownOffset;
        this.asks = theirs.file().address() + theirOffset;
        this.verifier = services.capabilities.verifier();
        this.writer = services.regions.writes().writer(services.check, claim);
    }

    /** The peer's mailbox that this looks into. */
    int mailbox() {
        return theirMailbox;
    }

    void start() {
        for (int i = 0; i < MailboxDescriptor.REQUESTS; i++) {
            // Asked before: it may have been copied already, and its source be in use again. Who waits goes by TCP.
            long word = asks + MailboxDescriptor.request(i) + MailboxDescriptor.REQUEST_SEQUENCE;
            long id = Math.abs(RawMemory.getLongVolatile(word));
            if (id != 0) {
                answer(i, id);
            }
        }
        RawMemory.putLongVolatile(answers + MailboxDescriptor.SERVED, 1);
        Thread thread = new Thread(this::run, "mooncake-write");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            RawMemory.putLongVolatile(answers + MailboxDescriptor.SERVED, 0);
            held.release();
            throw new MooncakeException(MooncakeException.Code.EXHAUSTED, "no thread for writes by shared memory", e);
        }
    }

    /** Ends it; when this returns nothing of the peer's is written any more. */
    void stop() {
        stopped = true;
        long until = System.nanoTime() + STOP_NANOS;
        while (copying && System.nanoTime() - until < 0) {
            Thread.onSpinWait();
        }
    }

    private void run() {
        try {
            while (!stopped) {
                int seen = RawMemory.getIntVolatile(asks + MailboxDescriptor.DOORBELL);
                boolean worked = false;
                for (int i = 0; i < MailboxDescriptor.REQUESTS; i++) {
                    worked |= serve(i);
                }
                if (!worked && !stopped) {
                    theirs.file().awaitChange(theirOffset + MailboxDescriptor.DOORBELL, seen, SLEEP_NANOS);
                }
            }
        } finally {
            RawMemory.putLongVolatile(answers + MailboxDescriptor.SERVED, 0);
            held.release();
        }
    }

    /** Whether there was something to do. */
    private boolean serve(int index) {
        request = asks + MailboxDescriptor.request(index);
        sequence = RawMemory.getLongVolatile(request + MailboxDescriptor.REQUEST_SEQUENCE);
        long id = Math.abs(sequence);
        boolean forUs = RawMemory.getLongVolatile(asks + MailboxDescriptor.PEER)
                        == services.incarnation.getMostSignificantBits()
                && RawMemory.getLongVolatile(asks + MailboxDescriptor.PEER + 8)
                        == services.incarnation.getLeastSignificantBits()
                && RawMemory.getLongVolatile(asks + MailboxDescriptor.BOUND) == ownMailbox;
        if (id == 0 || id == answered[index] || !forUs) {
            return false;
        }
        long entries = RawMemory.getLong(request + MailboxDescriptor.REQUEST_ENTRIES);
        for (int i = 0; i < MailboxDescriptor.ENTRIES && i < entries; i++) {
            load(request + MailboxDescriptor.entry(i));
            statuses[i] = sequence > 0 ? pull() : CANCELED;
        }
        answer(index, id);
        return true;
    }

    private void answer(int index, long id) {
        answered[index] = id;
        int answer = MailboxDescriptor.answer(index);
        RawMemory.put(answers + answer + MailboxDescriptor.ANSWER_STATUSES, statuses);
        RawMemory.putLongVolatile(answers + answer + MailboxDescriptor.ANSWER_SEQUENCE, id);
        RawMemory.increment(answers + answer + MailboxDescriptor.ANSWER_ALARM);
        own.file().wake(ownOffset + answer + MailboxDescriptor.ANSWER_ALARM);
    }

    private void load(long entry) {
        long both = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_REGIONS);
        claim.region = (int) both;
        sourceRegion = (int) (both >>> Integer.SIZE);
        claim.generation = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_GENERATION);
        claim.handleOffset = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_HANDLE_OFFSET);
        claim.handleLength = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_HANDLE_BYTES);
        claim.expiresAtNanos = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_EXPIRY);
        claim.offset = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_OFFSET);
        claim.length = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_BYTES);
        sourceOffset = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_SOURCE_OFFSET);
        claim.write = true;
        claim.writable = RawMemory.getLong(entry + MailboxDescriptor.ENTRY_RIGHTS) == 1;
        RawMemory.get(entry + MailboxDescriptor.ENTRY_CAPABILITY, claim.capability);
    }

    /** The code for the entry that was loaded. */
    private byte pull() {
        if (stopped) {
            return MailboxDescriptor.NOT_SHARED;
        }
        Region region = services.regions.find(claim.region);
        if (region == null || !region.acquire()) {
            return refused(RefusalCause.REGION);
        }
        refusal = null;
        byte code;
        writer.begin(region);
        try {
            code = pull(region);
        } finally {
            writer.end();
            region.release();
        }
        RefusalCause cause = refusal;
        return cause == null ? code : refused(cause);
    }

    /** The code, which counts for nothing when it leaves a refusal. */
    private byte pull(Region region) {
        refusal = services.check.before(verifier, link.peer(), region, claim);
        if (refusal != null || withdrawn()) {
            return CANCELED;
        }
        // What passes through buffers comes by TCP.
        MappedSegment source = region.device() == null ? source() : null;
        if (source == null) {
            return MailboxDescriptor.NOT_SHARED;
        }
        try {
            return copy(region, source);
        } finally {
            source.uses().release();
        }
    }

    /** Takes note of a refusal, perhaps after a pause, so nothing is held. */
    private byte refused(RefusalCause cause) {
        services.counters.refused(cause);
        if (!services.conduct.behaves(link.peer(), cause)) {
            stopped = true;
        }
        return (byte) StatusCodes.code(AccessCheck.status(cause));
    }

    /** Whether the peer has taken the request back. */
    private boolean withdrawn() {
        return RawMemory.getLongVolatile(request + MailboxDescriptor.REQUEST_SEQUENCE) != sequence;
    }

    /** The source's region with one use for the caller, or null when the range does not lie in shared memory of the peer. */
    private @Nullable MappedSegment source() {
        MappedSegment known = link.acquire(sourceRegion);
        MappedSegment segment = known == null ? link.map(sourceRegion) : known;
        if (segment == null || (segment.containsRange(sourceOffset, claim.length) && segment.registered())) {
            return segment;
        }
        segment.uses().release();
        return null;
    }

    /** The code of the outcome. */
    private byte copy(Region region, MappedSegment source) {
        long from = source.address() + sourceOffset;
        long to = region.address() + claim.start();
        long length = claim.length;
        for (long at = 0; at < length; at += Copier.PIECE_BYTES) {
            // Looked at after copying is set, and who stops looks at copying after stopped is.
            copying = true;
            try {
                if (stopped) {
                    return MailboxDescriptor.NOT_SHARED;
                }
                Copier.copy(from + at, to + at, Math.min(Copier.PIECE_BYTES, length - at));
            } finally {
                copying = false;
            }
            if (withdrawn()) {
                return CANCELED;
            }
            refusal = services.check.after(region, claim);
            if (refusal != null) {
                return CANCELED;
            }
        }
        services.counters.requestsServed.increment();
        services.counters.bytesReceived.add(length);
        return (byte) StatusCodes.code(TransferStatus.COMPLETED);
    }
}
