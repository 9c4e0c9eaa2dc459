// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What threads of this process write into regions for whoever was granted it: copies to oneself, and writes pulled out of a peer's shared
 * memory. A copy that has begun can't be stopped, so who takes a range back waits for those that it finds here.
 *
 * <p>A thread says what it is about to write before it looks at the generation, and who revokes looks here after the generation has moved:
 * one of the two sees the other.
 *
 * <p>Safe for all threads. Threads that ended are forgotten.
 */
public final class WritesUnderWay {
    private final Set<Writer> writers = Collections.newSetFromMap(new WeakHashMap<>());

    /** One thread's word on what it writes. Its fields are the thread's; {@code region} publishes them. */
    public static final class Writer {
        private final AccessCheck check;
        private final Claim claim;
        private volatile @Nullable Region region;

        private Writer(AccessCheck check, Claim claim) {
            this.check = check;
            this.claim = claim;
        }

        /** Before the claim to write is checked; nothing of the claim changes until {@link #end}. */
        public void begin(Region into) {
            region = into;
        }

        /** After the last byte. */
        public void end() {
            region = null;
        }

        /** Of a claim that has just ended it may see a part, and what it then says is true of the next one, which finds the new generation. */
        private boolean mayStillWrite(Region asked, long offset, long length) {
            // First the region: what is read of the claim then is no older.
            if (region != asked) {
                return false;
            }
            long start = claim.start();
            return start < offset + length && offset < start + claim.length && check.after(asked, claim) != null;
        }
    }

    /** What a thread that writes keeps, as long as it may write. */
    public Writer writer(AccessCheck check, Claim claim) {
        Writer writer = new Writer(check, claim);
        synchronized (writers) {
            writers.add(writer);
        }
        return writer;
    }

    /** Whether bytes of an access that is granted no more may still go into the range. */
    public boolean mayStillWrite(Region region, long offset, long length) {
        synchronized (writers) {
            for (Writer writer : writers) {
                if (writer.mayStillWrite(region, offset, length)) {
                    return true;
                }
            }
            return false;
        }
    }
}
