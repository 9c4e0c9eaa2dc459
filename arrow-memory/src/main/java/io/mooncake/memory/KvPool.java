// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;

/**
 * Cached keys and values of one identity. The same interface serves a single process ({@code LocalKvPool}) and a cluster (the Ignite
 * plugin's pool, which also fetches from other nodes).
 *
 * <p>Threading: safe for all threads. Ownership: leases and writers are owed a close by their caller; the pool belongs to whoever created
 * it.
 */
public interface KvPool {
    /** Name that users, routes and SQL call it by. */
    String name();

    /** What its blocks mean. */
    KvIdentity identity();

    /** Where the numbers lie: {@code BlockLayout.of(identity())}. */
    default BlockLayout layout() {
        return BlockLayout.of(identity());
    }

    /** The same pool seen by another tenant. */
    KvPool forTenant(Tenant tenant);

    /**
     * Takes the longest cached prefix of {@code tokens} that may be reused: local blocks at once, blocks of other nodes if they arrive
     * verified by the deadline. At most {@link #reusableTokens(int)} tokens.
     *
     * @param tokens token ids, each at least 0; not kept
     * @return never null; a miss is a lease with {@code matchedTokens() == 0} and a reason
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT naming the position of a negative token; ILLEGAL_STATE after close
     */
    PrefixLease acquire(int[] tokens, Deadline deadline);

    /**
     * The same, with what else is known of the request.
     *
     * @param hints for the policy that decides which blocks stay
     */
    default PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints hints) {
        return acquire(tokens, deadline);
    }

    /**
     * Opens a writer for the full blocks of {@code tokens} behind the whole blocks of {@code prefix}. Blocks that are in the pool already
     * come too, without taking memory: what is written for them is dropped, publishing an existing key keeps the existing block.
     *
     * @param prefix a lease of this pool on a prefix of {@code tokens}, open until the writer is closed
     */
    BlockWriter extend(PrefixLease prefix, int[] tokens);

    /**
     * The same, but for memory that is held by others {@link BlockWriter#hasNext()} waits, in the order in which writers came, until there is some or the
     * deadline has passed: so a burst is slowed down instead of dropped. Without memory then, {@link BlockWriter#stop()} says what was missing.
     * What the caller itself holds, by {@code prefix} (a block in part, too) or by what was written before, does not come back: so of a chain longer than the pool
     * the end is not stored, after the deadline.
     *
     * @param deadline of the whole writing
     */
    default BlockWriter extend(PrefixLease prefix, int[] tokens, Deadline deadline) {
        return extend(prefix, tokens);
    }

    /** An empty lease with reason {@link MissReason#LOOKUP_DISABLED}: computing without the cache, by the same code. */
    PrefixLease withoutLookup();

    /**
     * How many tokens of a prompt of {@code promptTokens} may come from the cache: at most all but the last in fast mode, {@code
     * blockTokens * ((promptTokens - 1) / blockTokens)} in exact mode.
     */
    default int reusableTokens(int promptTokens) {
        if (promptTokens <= 1) {
            return 0;
        }
        int blockTokens = identity().blockTokens();
        return identity().mode() == ReuseMode.EXACT ? (promptTokens - 1) / blockTokens * blockTokens : promptTokens - 1;
    }
}
