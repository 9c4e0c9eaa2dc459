// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;

/**
 * What a model declares about its keys and values. KV of a prefix may be shared only where it depends on the prefix's tokens and their
 * absolute positions and on nothing that comes later.
 *
 * @param positions how positions enter keys
 * @param windowPerLayer tokens that each layer looks back, 0 for all; one entry a layer
 * @param strictlyCausal whether no token sees a later one
 * @param recurrent whether layers carry state besides keys and values
 * @param renumbersPositions whether tokens change position when old ones are dropped, as sink caches do
 */
public record KvSemantics(
        Positions positions,
        List<Integer> windowPerLayer,
        boolean strictlyCausal,
        boolean recurrent,
        boolean renumbersPositions) {

    /** How positions enter keys. */
    public enum Positions {
        /** Rotation by absolute position with fixed frequencies. */
        STATIC_ROPE(true, "fixed frequencies"),
        /** The same with positions divided by a constant. */
        LINEAR_ROPE(true, "fixed frequencies, positions divided by a constant"),
        /** Learned vectors by absolute position. */
        LEARNED(true, "learned absolute positions"),
        /** Frequencies that change with the total length. */
        DYNAMIC_NTK(false, "dynamic NTK scaling: keys depend on the total length"),
        /** Two sets of frequencies, chosen by the total length. */
        LONG_ROPE(false, "LongRoPE scaling: keys depend on the total length"),
        /** A scaling that this program does not know. */
        UNKNOWN(false, "a position scaling that is not known here");

        private final boolean reusable;
        private final String meaning;

        Positions(boolean reusable, String meaning) {
            this.reusable = reusable;
            this.meaning = meaning;
        }

        /** Whether keys depend on the prefix alone. */
        public boolean reusable() {
            return reusable;
        }
    }

    public KvSemantics {
        windowPerLayer = List.copyOf(windowPerLayer);
        if (windowPerLayer.isEmpty() || windowPerLayer.stream().anyMatch(window -> window < 0)) {
            throw MooncakeException.invalid("windowPerLayer", windowPerLayer, "one entry of 0 or more a layer");
        }
    }

    /** A causal decoder whose layers all look back to the first token. */
    public static KvSemantics fullAttention(Positions positions, int layers) {
        return new KvSemantics(positions, java.util.Collections.nCopies(layers, 0), true, false, false);
    }

    /** Why KV of this model must not be shared in sequences of up to {@code contextTokens}; empty where it may be. */
    public List<String> refusals(int contextTokens) {
        List<String> reasons = new ArrayList<>();
        if (!positions.reusable()) {
            reasons.add("positions: " + positions.meaning);
        }
        for (int layer = 0; layer < windowPerLayer.size(); layer++) {
            int window = windowPerLayer.get(layer);
            if (window > 0 && window < contextTokens) {
                reasons.add("window of layer " + layer + ": " + window + " (expected: none, or at least the context of "
                        + contextTokens + ")");
                break;
            }
        }
        if (!strictlyCausal) {
            reasons.add("attention: sees later tokens (expected: strictly causal)");
        }
        if (recurrent) {
            reasons.add("layers: recurrent state (expected: keys and values only)");
        }
        if (renumbersPositions) {
            reasons.add("positions: renumbered when tokens are dropped (expected: absolute)");
        }
        return reasons;
    }

    /**
     * Returns quietly where KV may be shared.
     *
     * @param model name that the message shows
     * @throws MooncakeException MODEL_REFUSED with all reasons
     */
    public void requireReusable(String model, int contextTokens) {
        List<String> reasons = refusals(contextTokens);
        if (!reasons.isEmpty()) {
            throw new MooncakeException(
                    MooncakeException.Code.MODEL_REFUSED,
                    model + ": its KV cannot be shared: " + String.join("; ", reasons));
        }
    }
}
