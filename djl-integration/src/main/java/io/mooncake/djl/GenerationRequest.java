// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.RequestHints;
import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * One prompt to be continued. Immutable; each method returns a changed copy.
 *
 * @param prompt token ids, one or more, never changed afterwards
 * @param maxNewTokens most tokens to generate, 1 or more
 * @param stopTokens ids that end the answer; the one that did is part of it
 * @param lookup whether cached prefixes are used
 * @param store whether new blocks are stored
 * @param lookupTimeout how long fetches from other nodes may take
 * @param sampling how a token is chosen
 * @param retokenised whether the prompt diverged from its conversation's ledger
 * @param keepLogits whether the first token's logits are returned whole
 * @param onToken called with each token as it is known, on the generating thread
 * @param hints what the pool's policy may know of it
 */
public record GenerationRequest(
        int[] prompt,
        int maxNewTokens,
        Set<Integer> stopTokens,
        boolean lookup,
        boolean store,
        Duration lookupTimeout,
        Sampling sampling,
        boolean retokenised,
        boolean keepLogits,
        IntConsumer onToken,
        RequestHints hints) {

    public GenerationRequest {
        if (prompt.length == 0) {
            throw MooncakeException.invalid("prompt", "0 tokens", "one token or more");
        }
        if (maxNewTokens < 1) {
            throw MooncakeException.invalid("maxNewTokens", maxNewTokens, "1 or more");
        }
        if (lookupTimeout.isNegative() || lookupTimeout.isZero() || lookupTimeout.compareTo(Duration.ofDays(1)) > 0) {
            throw MooncakeException.invalid("lookupTimeout", lookupTimeout, "more than zero, at most one day");
        }
        stopTokens = Set.copyOf(stopTokens);
    }

    /** Greedy, 64 tokens, cached prefixes used and new blocks stored, 2 s for fetches. */
    public static GenerationRequest of(int[] prompt) {
        return new GenerationRequest(
                prompt,
                64,
                Set.of(),
                true,
                true,
                Duration.ofSeconds(2),
                Sampling.GREEDY,
                false,
                false,
                token -> {},
                RequestHints.NONE);
    }

    /** The same with another limit of tokens. */
    public GenerationRequest maxNewTokens(int tokens) {
        return with(change -> change.maxNewTokens = tokens);
    }

    /** The same, ended by one of {@code tokens}. */
    public GenerationRequest stopAt(Set<Integer> tokens) {
        return with(change -> change.stopTokens = tokens);
    }

    /** The same, computed whole and stored nowhere: the measure that reuse is held against. */
    public GenerationRequest withoutCache() {
        return cache(false, false);
    }

    /** The same with cached prefixes used or not, new blocks stored or not. */
    public GenerationRequest cache(boolean use, boolean keep) {
        return with(change -> {
            change.lookup = use;
            change.store = keep;
        });
    }

    /** The same with another limit for fetches. */
    public GenerationRequest lookupTimeout(Duration limit) {
        return with(change -> change.lookupTimeout = limit);
    }

    /** The same, tokens chosen by {@code how}. */
    public GenerationRequest sampling(Sampling how) {
        return with(change -> change.sampling = how);
    }

    /** The same, marked as diverged from its conversation's ledger or not. */
    public GenerationRequest retokenised(boolean diverged) {
        return with(change -> change.retokenised = diverged);
    }

    /** The same, the first token's logits returned whole. */
    public GenerationRequest keepingLogits() {
        return with(change -> change.keepLogits = true);
    }

    /** The same, tokens told to {@code listener} as they are known. */
    public GenerationRequest onToken(IntConsumer listener) {
        return with(change -> change.onToken = listener);
    }

    /** The same, with what the pool's policy may know of it. */
    public GenerationRequest hints(RequestHints known) {
        return with(change -> change.hints = known);
    }

    private GenerationRequest with(Consumer<Change> what) {
        Change change = new Change(this);
        what.accept(change);
        return change.made();
    }

    /** A copy while it is changed. */
    private static final class Change {
        private final int[] prompt;
        private int maxNewTokens;
        private Set<Integer> stopTokens;
        private boolean lookup;
        private boolean store;
        private Duration lookupTimeout;
        private Sampling sampling;
        private boolean retokenised;
        private boolean keepLogits;
        private IntConsumer onToken;
        private RequestHints hints;

        Change(GenerationRequest from) {
            prompt = from.prompt;
            maxNewTokens = from.maxNewTokens;
            stopTokens = from.stopTokens;
            lookup = from.lookup;
            store = from.store;
            lookupTimeout = from.lookupTimeout;
            sampling = from.sampling;
            retokenised = from.retokenised;
            keepLogits = from.keepLogits;
            onToken = from.onToken;
            hints = from.hints;
        }

        GenerationRequest made() {
            return new GenerationRequest(
                    prompt,
                    maxNewTokens,
                    stopTokens,
                    lookup,
                    store,
                    lookupTimeout,
                    sampling,
                    retokenised,
                    keepLogits,
                    onToken,
                    hints);
        }
    }
}
