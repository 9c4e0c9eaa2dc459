// SPDX-License-Identifier: Apache-2.0
package io.mooncake.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * An answer of {@link MooncakeService#explain} in types. Keys that a newer server adds are passed over.
 *
 * @param promptTokens tokens of the prompt
 * @param reusableTokens tokens that may come from a cache at most
 * @param matches tokens of the prompt's beginning by the node that holds them, longest first
 * @param pieces what the node that answers would take from where, in the prompt's order
 * @param gaps what it would compute although it may come from a cache
 * @param missReason the first gap's reason, {@code NONE} when nothing is missed
 */
public record PromptExplanation(
        int promptTokens,
        int reusableTokens,
        Map<UUID, Integer> matches,
        List<Piece> pieces,
        List<Gap> gaps,
        String missReason) {
    /**
     * Tokens that come from one place.
     *
     * @param fromToken index of the first of them in the prompt
     * @param toToken index behind the last of them
     * @param nodeId the node that has them
     * @param tier {@code DRAM}, {@code SSD}, or {@code MIXED} where another node has them in both
     * @param way {@code LOCAL}, {@code SHARED_MEMORY}, {@code RDMA}, {@code TCP} or {@code UNKNOWN}
     */
    public record Piece(int fromToken, int toToken, UUID nodeId, String tier, String way) {}

    /**
     * Tokens that are missed for one reason.
     *
     * @param fromToken index of the first of them in the prompt
     * @param toToken index behind the last of them
     * @param reason why, for example {@code NOT_CACHED}
     */
    public record Gap(int fromToken, int toToken, String reason) {}

    /** @throws IllegalArgumentException naming what {@code answer} lacks */
    public static PromptExplanation of(Map<String, ?> answer) {
        Map<UUID, Integer> matches = new LinkedHashMap<>();
        require(answer, "matches", Map.class)
                .forEach((node, tokens) -> matches.put(UUID.fromString((String) node), (Integer) tokens));
        List<Piece> pieces = new ArrayList<>();
        for (Map<String, ?> piece : maps(answer, "pieces")) {
            pieces.add(new Piece(
                    require(piece, "fromToken", Integer.class),
                    require(piece, "toToken", Integer.class),
                    UUID.fromString(require(piece, "nodeId", String.class)),
                    require(piece, "tier", String.class),
                    require(piece, "way", String.class)));
        }
        List<Gap> gaps = new ArrayList<>();
        for (Map<String, ?> gap : maps(answer, "gaps")) {
            gaps.add(new Gap(
                    require(gap, "fromToken", Integer.class),
                    require(gap, "toToken", Integer.class),
                    require(gap, "reason", String.class)));
        }
        return new PromptExplanation(
                require(answer, "promptTokens", Integer.class),
                require(answer, "reusableTokens", Integer.class),
                matches,
                List.copyOf(pieces),
                List.copyOf(gaps),
                require(answer, "missReason", String.class));
    }

    @SuppressWarnings("unchecked") // the service's answer is of maps from text
    private static List<Map<String, ?>> maps(Map<String, ?> answer, String name) {
        return (List<Map<String, ?>>) require(answer, name, List.class);
    }

    private static <T> T require(Map<String, ?> answer, String name, Class<T> type) {
        Object value = answer.get(name);
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException(
                    name + ": " + value + " (expected: " + type.getSimpleName() + " in an answer of explain)");
        }
        return type.cast(value);
    }
}
