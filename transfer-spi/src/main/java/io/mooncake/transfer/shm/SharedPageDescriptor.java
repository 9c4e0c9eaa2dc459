// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

/**
 * The page that an engine shares with the peers of its machine, version 1, little-endian. Its owner writes, peers map it read-only.
 *
 * <pre>
 *     0  magic "MKSHPAG1"           8 B       slot i at 128 + 320 i, i in 0..63
 *     8  version = 1                i64          0  region id, 0 while the slot is unused    i64
 *    16  owner's incarnation    2 x i64          8  address of the region in its file        i64
 *    32  token                     32 B         16  bytes of the region                      i64
 *    64  1 open, 0 closed           i64         24  device of the file                       i64
 *    72  revocations                i64         32  inode of the file                        i64
 *    80  zero                      48 B
 *                                               40  bytes of the path                        i64
 *                                               48  path, UTF-8                            272 B
 *
 *     mailbox m at 24576 + 16384 m, m in 0..31, see {@link MailboxDescriptor}
 * </pre>
 *
 * Publication: a slot's fields are written before its region id, and the id is set to 0 before the registration ends; ids are never used
 * twice. So a reader that finds the id of its lease after it copied has copied out of registered memory. Closed is written before the
 * engine lets go of anything.
 * Revocations counts the peers that were declared gone: whoever finds another count than it was told when it attached asks again, and a
 * peer that is gone is refused then.
 */
final class SharedPageDescriptor {
    /** "MKSHPAG1" read little-endian. */
    static final long MAGIC = 0x3147_4150_4853_4B4DL;

    static final long VERSION = 1;
    static final int SLOTS = 64;
    static final int TOKEN_BYTES = 32;
    static final int MAX_PATH_BYTES = 272;

    static final int INCARNATION = 16;
    static final int TOKEN = 32;
    static final int STATE = 64;
    static final int REVOCATIONS = 72;
    static final long OPEN = 1;
    static final long CLOSED = 0;

    static final int SLOT_ID = 0;
    static final int SLOT_FILE_OFFSET = 8;
    static final int SLOT_BYTES_OF_REGION = 16;
    static final int SLOT_DEVICE = 24;
    static final int SLOT_INODE = 32;
    static final int SLOT_PATH_BYTES = 40;
    static final int SLOT_PATH = 48;

    private static final int FIRST_SLOT = 128;
    private static final int SLOT_BYTES = 320;

    /** Peers of this machine that writes can go to and come from. */
    static final int MAILBOXES = 32;

    private static final int FIRST_MAILBOX = 24_576;

    /** Bytes of the page. */
    static final int BYTES = FIRST_MAILBOX + MAILBOXES * MailboxDescriptor.BYTES;

    private SharedPageDescriptor() {}

    static long slot(long page, int index) {
        return page + FIRST_SLOT + (long) index * SLOT_BYTES;
    }

    static boolean isMailbox(int index) {
        return index >= 0 && index < MAILBOXES;
    }

    /** Where mailbox {@code index} starts in the page. */
    static long mailbox(int index) {
        return FIRST_MAILBOX + (long) index * MailboxDescriptor.BYTES;
    }
}
