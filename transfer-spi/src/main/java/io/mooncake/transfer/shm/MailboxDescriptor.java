// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

/**
 * The part of an engine's page that is for one peer: what it asks the peer to write, and what it answers to what the peer asked. The page's
 * owner writes all of it, the peer only reads; each of two engines has one for the other. Little-endian, but for the two words that the
 * kernel compares.
 *
 * <pre>
 *     0  the peer's incarnation        2 x i64        request j at 320 + 3392 j, j in 0..3
 *    16  doorbell                          i32            0  sequence                             i64
 *    24  1 while the peer is served        i64            8  entries, 1..32                       i64
 *                                                        64 + 104 e  entry e
 *    32  mailbox of the peer that its
 *        answers are read from, or -1      i64
 *   answer j at 64 + 64 j, j in 0..3
 *     0  sequence of the request           i64        entry
 *     8  alarm                             i32            0  region of the handle  i32    4  source's region       i32
 *    16  status of each entry             32 B            8  generation            i64   16  offset of the handle  i64
 *                                                        24  length of the handle  i64   32  expiry                i64
 *                                                        40  from in the handle    i64   48  bytes                 i64
 *                                                        56  from in the source    i64   64  rights                i64
 *                                                        72  capability           32 B
 * </pre>
 *
 * Publication: a request's entries are written before its sequence, which is positive and never comes twice in a mailbox; then the doorbell
 * is raised. An answer's statuses are written before its sequence; then the alarm is raised. Who asked and does not wait any more negates
 * the sequence, and the peer stops between two pieces and answers all the same: an answer is the word that it reads the source no longer.
 * A request is served by that mailbox alone from which its answer is read.
 */
final class MailboxDescriptor {
    /** Requests to a peer at a time. */
    static final int REQUESTS = 4;
    /** Ranges of one request. */
    static final int ENTRIES = 32;

    static final int BYTES = 16_384;

    static final int PEER = 0;
    static final int DOORBELL = 16;
    static final int SERVED = 24;
    static final int BOUND = 32;

    static final int ANSWER_SEQUENCE = 0;
    static final int ANSWER_ALARM = 8;
    static final int ANSWER_STATUSES = 16;

    static final int REQUEST_SEQUENCE = 0;
    static final int REQUEST_ENTRIES = 8;

    static final int ENTRY_REGIONS = 0;
    static final int ENTRY_GENERATION = 8;
    static final int ENTRY_HANDLE_OFFSET = 16;
    static final int ENTRY_HANDLE_BYTES = 24;
    static final int ENTRY_EXPIRY = 32;
    static final int ENTRY_OFFSET = 40;
    static final int ENTRY_BYTES = 48;
    static final int ENTRY_SOURCE_OFFSET = 56;
    static final int ENTRY_RIGHTS = 64;
    static final int ENTRY_CAPABILITY = 72;

    /** In place of a status: the peer can't read the source; the range goes by TCP. */
    static final byte NOT_SHARED = 0;

    private static final int FIRST_ANSWER = 64;
    private static final int ANSWER_BYTES = 64;
    private static final int FIRST_REQUEST = FIRST_ANSWER + REQUESTS * ANSWER_BYTES;
    private static final int FIRST_ENTRY = 64;
    private static final int BYTES_OF_ENTRY = 104;
    private static final int REQUEST_BYTES = FIRST_ENTRY + ENTRIES * BYTES_OF_ENTRY;

    private MailboxDescriptor() {}

    /** Where answer {@code index} starts in a mailbox. */
    static int answer(int index) {
        return FIRST_ANSWER + index * ANSWER_BYTES;
    }

    /** Where request {@code index} starts in a mailbox. */
    static int request(int index) {
        return FIRST_REQUEST + index * REQUEST_BYTES;
    }

    /** Where entry {@code index} starts in a request. */
    static int entry(int index) {
        return FIRST_ENTRY + index * BYTES_OF_ENTRY;
    }
}
