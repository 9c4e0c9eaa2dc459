// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import static io.mooncake.transfer.shm.SharedPageDescriptor.MAX_PATH_BYTES;
import static io.mooncake.transfer.shm.SharedPageDescriptor.SLOTS;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.RawMemory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.UUID;

/** This engine's page, see {@link SharedPageDescriptor}. Writers are synchronized on this; peers read at any time. */
final class SharedPage implements AutoCloseable {
    private final SharedFile file;
    private final byte[] token = new byte[SharedPageDescriptor.TOKEN_BYTES];
    private final Uses uses;
    /** Regions in the slots; replaced under this. */
    private volatile int[] regions = new int[0];
    // Guarded by this.
    private final boolean[] mailboxes = new boolean[SharedPageDescriptor.MAILBOXES];
    private boolean closed;

    SharedPage(Path folder, UUID incarnation) {
        file = SharedFile.create(folder, SharedPageDescriptor.BYTES);
        uses = new Uses(file::close);
        new SecureRandom().nextBytes(token);
        long page = file.address();
        RawMemory.putLongVolatile(page + SharedPageDescriptor.INCARNATION, incarnation.getMostSignificantBits());
        RawMemory.putLongVolatile(page + SharedPageDescriptor.INCARNATION + 8, incarnation.getLeastSignificantBits());
        RawMemory.put(page + SharedPageDescriptor.TOKEN, token);
        RawMemory.putLongVolatile(page + 8, SharedPageDescriptor.VERSION);
        RawMemory.putLongVolatile(page + SharedPageDescriptor.STATE, SharedPageDescriptor.OPEN);
        RawMemory.putLongVolatile(page, SharedPageDescriptor.MAGIC);
    }

    SharedFile file() {
        return file;
    }

    /** Who writes into it without being synchronized needs a use; the last one unmaps a closed page. */
    Uses uses() {
        return uses;
    }

    /** Takes a mailbox for a peer, empty; -1 when there is none left. The caller owes {@link #free}. */
    synchronized int allocate(UUID peer) {
        for (int i = 0; i < mailboxes.length && !closed; i++) {
            if (!mailboxes[i]) {
                mailboxes[i] = true;
                long mailbox = file.address() + SharedPageDescriptor.mailbox(i);
                for (int j = 0; j < MailboxDescriptor.REQUESTS; j++) {
                    RawMemory.putLongVolatile(mailbox + MailboxDescriptor.request(j), 0);
                    RawMemory.putLongVolatile(mailbox + MailboxDescriptor.answer(j), 0);
                }
                RawMemory.putLongVolatile(mailbox + MailboxDescriptor.SERVED, 0);
                RawMemory.putLongVolatile(mailbox + MailboxDescriptor.BOUND, -1);
                RawMemory.putLongVolatile(mailbox + MailboxDescriptor.PEER, peer.getMostSignificantBits());
                RawMemory.putLongVolatile(mailbox + MailboxDescriptor.PEER + 8, peer.getLeastSignificantBits());
                return i;
            }
        }
        return -1;
    }

    /** Gives a mailbox back: nothing of this engine uses it any more. */
    synchronized void free(int mailbox) {
        mailboxes[mailbox] = false;
        if (!closed) {
            long peer = file.address() + SharedPageDescriptor.mailbox(mailbox) + MailboxDescriptor.PEER;
            RawMemory.putLongVolatile(peer, 0);
            RawMemory.putLongVolatile(peer + 8, 0);
        }
    }

    byte[] token() {
        return token;
    }

    /** Shows a region to peers. */
    synchronized void publish(int region, long fileOffset, long length, SharedFile backing) {
        byte[] path = backing.path().toString().getBytes(StandardCharsets.UTF_8);
        if (path.length > MAX_PATH_BYTES) {
            throw MooncakeException.invalid(
                    "path of shared memory", backing.path(), "at most " + MAX_PATH_BYTES + " bytes");
        }
        for (int i = 0; i < SLOTS; i++) {
            long slot = SharedPageDescriptor.slot(file.address(), i);
            if (RawMemory.getLongVolatile(slot) == 0) {
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_FILE_OFFSET, fileOffset);
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_BYTES_OF_REGION, length);
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_DEVICE, backing.device());
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_INODE, backing.inode());
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_PATH_BYTES, path.length);
                RawMemory.put(slot + SharedPageDescriptor.SLOT_PATH, path);
                RawMemory.putLongVolatile(slot + SharedPageDescriptor.SLOT_ID, region);
                int[] more = Arrays.copyOf(regions, regions.length + 1);
                more[regions.length] = region;
                regions = more;
                return;
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.EXHAUSTED, "shared regions: " + SLOTS + " (expected: below " + SLOTS + ")");
    }

    /** Whether peers see the region. */
    boolean shows(int region) {
        for (int shown : regions) {
            if (shown == region) {
                return true;
            }
        }
        return false;
    }

    /** Takes a region back; what is copied out of it from now on counts for nothing. */
    synchronized void retract(int region) {
        regions = Arrays.stream(regions).filter(shown -> shown != region).toArray();
        for (int i = 0; i < SLOTS && !closed; i++) {
            long slot = SharedPageDescriptor.slot(file.address(), i);
            if (RawMemory.getLongVolatile(slot) == region) {
                RawMemory.putLongVolatile(slot, 0);
            }
        }
    }

    /** Has every peer that is attached ask again. */
    synchronized void revoke() {
        if (!closed) {
            long word = file.address() + SharedPageDescriptor.REVOCATIONS;
            RawMemory.putLongVolatile(word, RawMemory.getLongVolatile(word) + 1);
        }
    }

    synchronized long revocations() {
        return closed ? -1 : RawMemory.getLongVolatile(file.address() + SharedPageDescriptor.REVOCATIONS);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            RawMemory.putLongVolatile(file.address() + SharedPageDescriptor.STATE, SharedPageDescriptor.CLOSED);
            uses.end();
        }
    }
}
