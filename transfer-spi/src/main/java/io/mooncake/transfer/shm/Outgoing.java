// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.transfer.internal.TransferBatch.Slice;

/** The slices that a thread asks a peer to write in one request. One thread each; reused. */
final class Outgoing {
    private final Slice[] slices = new Slice[MailboxDescriptor.ENTRIES];
    /** Region of each slice's local memory. */
    final int[] regions = new int[MailboxDescriptor.ENTRIES];
    /** Where it lies in the region. */
    final long[] offsets = new long[MailboxDescriptor.ENTRIES];
    /** What the peer answered, codes of statuses. */
    final byte[] statuses = new byte[MailboxDescriptor.ENTRIES];

    int count;

    Outgoing() {
        for (int i = 0; i < slices.length; i++) {
            slices[i] = new Slice();
        }
    }

    Slice slice(int index) {
        return slices[index];
    }
}
