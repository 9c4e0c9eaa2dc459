// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.ByteLevel;
import io.mooncake.djl.gguf.GgufMetadata;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The tokens of a model: texts, kinds, and the bytes that each stands for.
 *
 * <p>Immutable.
 */
final class Vocabulary {
    private static final String TOKENS = "tokenizer.ggml.tokens";
    private static final String TYPES = "tokenizer.ggml.token_type";
    private static final int NORMAL = 1;
    private static final int UNKNOWN = 2;
    private static final int CONTROL = 3;
    private static final int USER_DEFINED = 4;
    private static final int BYTE = 6;
    /** SentencePiece's sign for a space. */
    static final char SPACE_SIGN = '\u2581';
    /** End-of-turn markers in use; a control token of such a name ends an answer. */
    private static final Set<String> TURN_ENDS =
            Set.of("<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<end_of_turn>", "</s>");

    /** A token whose text is looked for before all splitting. */
    record Special(int id, String text, boolean control) {}

    private final boolean byteLevel;
    private final List<String> tokens;
    private final int[] types;
    private final Map<String, Integer> ids = new HashMap<>();
    private final List<Special> specials;
    private final int bosId;
    private final int eosId;
    private final int unknownId;
    private final boolean[] ends;

    /** Reads the vocabulary; {@code byteLevel} says how token texts stand for bytes. */
    Vocabulary(GgufMetadata metadata, boolean byteLevel) {
        this.byteLevel = byteLevel;
        this.tokens = metadata.requireStrings(TOKENS);
        int size = tokens.size();
        if (size == 0) {
            throw metadata.refused(TOKENS, "at least one token");
        }
        this.types = metadata.findInts(TYPES).map(int[]::clone).orElseGet(() -> {
            int[] normal = new int[size];
            Arrays.fill(normal, NORMAL);
            return normal;
        });
        if (types.length != size) {
            throw metadata.refused(TYPES, "an array of " + size + ", one for each token");
        }
        markersAreControl();
        for (int id = 0; id < size; id++) {
            if (types[id] != CONTROL && types[id] != UNKNOWN) {
                ids.putIfAbsent(tokens.get(id), id);
            }
        }
        this.specials = sortedSpecials();
        this.bosId = specialId(metadata, "tokenizer.ggml.bos_token_id", byteLevel ? -1 : 1);
        this.eosId = specialId(metadata, "tokenizer.ggml.eos_token_id", byteLevel ? -1 : 2);
        this.unknownId = specialId(metadata, "tokenizer.ggml.unknown_token_id", byteLevel ? -1 : 0);
        this.ends = ends(specialId(metadata, "tokenizer.ggml.eot_token_id", -1));
    }

    /** Some files call their turn markers user-defined, and such tokens count everywhere: a user could write turns of somebody else. */
    private void markersAreControl() {
        for (int id = 0; id < types.length; id++) {
            String text = tokens.get(id);
            boolean marker = (text.startsWith("<|") && text.endsWith("|>")) || TURN_ENDS.contains(text);
            if (types[id] == USER_DEFINED && marker) {
                types[id] = CONTROL;
            }
        }
    }

    private int specialId(GgufMetadata metadata, String key, int fallback) {
        int id = metadata.intOr(key, fallback);
        if (id >= tokens.size()) {
            if (metadata.contains(key)) {
                throw metadata.refused(key, "below the vocabulary's " + tokens.size());
            }
            return -1;
        }
        return id;
    }

    private List<Special> sortedSpecials() {
        List<Special> out = new ArrayList<>();
        for (int id = 0; id < tokens.size(); id++) {
            boolean control = types[id] == CONTROL || types[id] == UNKNOWN;
            if ((control || types[id] == USER_DEFINED) && !tokens.get(id).isEmpty()) {
                out.add(new Special(id, tokens.get(id), control));
            }
        }
        out.sort(Comparator.comparingInt((Special special) -> -special.text().length()));
        return List.copyOf(out);
    }

    private boolean[] ends(int eotId) {
        boolean[] out = new boolean[tokens.size()];
        for (int id = 0; id < out.length; id++) {
            out[id] = id == eosId || id == eotId || (types[id] == CONTROL && TURN_ENDS.contains(tokens.get(id)));
        }
        return out;
    }

    int size() {
        return tokens.size();
    }

    String text(int id) {
        return tokens.get(check(id));
    }

    int type(int id) {
        return types[id];
    }

    /** The id of an ordinary token, or -1; the texts of control tokens are not found. */
    int find(String text) {
        Integer id = ids.get(text);
        return id == null ? -1 : id;
    }

    /** Tokens to look for before splitting, the longest first. */
    List<Special> specials() {
        return specials;
    }

    int bosId() {
        return bosId;
    }

    int eosId() {
        return eosId;
    }

    int unknownId() {
        return unknownId;
    }

    boolean endsAnswer(int id) {
        return ends[check(id)];
    }

    boolean isControl(int id) {
        int type = types[check(id)];
        return type == CONTROL || type == UNKNOWN;
    }

    /** Whether the token is cut out of a text before all splitting. */
    boolean isSpecial(int id) {
        return isControl(id) || types[id] == USER_DEFINED;
    }

    /** The bytes a token stands for. */
    byte[] bytes(int id) {
        String text = text(id);
        switch (types[id]) {
            case CONTROL, UNKNOWN, USER_DEFINED -> {
                return text.getBytes(StandardCharsets.UTF_8);
            }
            case BYTE -> {
                return new byte[] {(byte) byteOf(text)};
            }
            default -> {
                return byteLevel
                        ? byteLevelBytes(text)
                        : text.replace(SPACE_SIGN, ' ').getBytes(StandardCharsets.UTF_8);
            }
        }
    }

    /** The token {@code <0xHH>} of SentencePiece vocabularies as a number; 0xFF where it is written otherwise. */
    private static int byteOf(String text) {
        boolean known = text.length() == 6 && text.startsWith("<0x") && text.endsWith(">");
        return known ? parseHex(text) : 0xff;
    }

    private static int parseHex(String text) {
        int high = Character.digit(text.charAt(3), 16);
        int low = Character.digit(text.charAt(4), 16);
        return high < 0 || low < 0 ? 0xff : high << 4 | low;
    }

    private static byte[] byteLevelBytes(String text) {
        byte[] out = new byte[text.length()];
        for (int i = 0; i < out.length; i++) {
            int b = ByteLevel.toByte(text.charAt(i));
            if (b < 0) {
                return text.getBytes(StandardCharsets.UTF_8);
            }
            out[i] = (byte) b;
        }
        return out;
    }

    private int check(int id) {
        if (id < 0 || id >= tokens.size()) {
            throw MooncakeException.invalid("token id", id, "0.." + (tokens.size() - 1));
        }
        return id;
    }
}
