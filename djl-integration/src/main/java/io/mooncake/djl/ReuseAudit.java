// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts how answers computed with reuse compare with those computed without, both greedy and of one prompt. In exact mode all bits must
 * agree. In fast mode a differing token passes where the two best logits were less than {@link #TOLERATED_GAP} apart; what follows it is not
 * compared, since the texts are different from there on.
 *
 * <p>Threading: safe for all threads.
 */
public final class ReuseAudit {
    /** A smaller gap of the two best logits may be turned by rounding. */
    public static final float TOLERATED_GAP = 1e-3f;

    private final LongAdder compared = new LongAdder();
    private final LongAdder sameLogits = new LongAdder();
    private final LongAdder tolerated = new LongAdder();
    private final LongAdder wrong = new LongAdder();

    /** How two answers compare. */
    public enum Verdict {
        /** The same tokens. */
        SAME,
        /** A token differs where the two best logits were almost equal. */
        TOLERATED,
        /** A token differs without that excuse. */
        WRONG
    }

    /** Compares and counts. */
    public Verdict compare(Generation computed, Generation reused) {
        compared.increment();
        if (computed.logitsDigest().equals(reused.logitsDigest())) {
            sameLogits.increment();
        }
        int common = Math.min(computed.tokens().length, reused.tokens().length);
        for (int i = 0; i < common; i++) {
            if (computed.tokens()[i] != reused.tokens()[i]) {
                boolean close = computed.gaps()[i] < TOLERATED_GAP;
                (close ? tolerated : wrong).increment();
                return close ? Verdict.TOLERATED : Verdict.WRONG;
            }
        }
        return Verdict.SAME;
    }

    /** Pairs compared. */
    public long compared() {
        return compared.sum();
    }

    /** Of these, pairs whose logits are equal in all bits. */
    public long sameLogits() {
        return sameLogits.sum();
    }

    /** Of these, pairs with a differing token at an almost equal choice. */
    public long tolerated() {
        return tolerated.sum();
    }

    /** Of these, pairs with a differing token that has no excuse. */
    public long wrong() {
        return wrong.sum();
    }
}
