// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A pool's identity as text, as it travels in node attributes: one {@code name=value} a line in a fixed order, backslash and line feed
 * escaped. Equal identities give equal texts, and a reader of a later version can show fields that it does not know.
 */
public final class IdentityText {
    private static final int DIGEST_DIGITS = 12;
    /** What changes with new weights of the same model. */
    private static final Set<String> WEIGHTS = Set.of("modelDigest", "tokenizerDigest", "adapterDigest");

    private IdentityText() {}

    /** The canonical text. */
    public static String encode(KvIdentity identity) {
        StringBuilder text = new StringBuilder(512);
        fields(identity).forEach((name, value) -> text.append(name)
                .append('=')
                .append(value.replace("\\", "\\\\").replace("\n", "\\n"))
                .append('\n'));
        return text.toString();
    }

    /**
     * Reads the canonical text.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is none, or when a value is out of range
     */
    public static KvIdentity parse(String text) {
        Map<String, String> fields = split(text);
        try {
            return new KvIdentity(
                    require(fields, "modelDigest"),
                    require(fields, "tokenizerDigest"),
                    require(fields, "adapterDigest"),
                    require(fields, "engineLayout"),
                    require(fields, "rope"),
                    ReuseMode.valueOf(require(fields, "mode")),
                    KvDataType.valueOf(require(fields, "dataType")),
                    Integer.parseInt(require(fields, "layers")),
                    Integer.parseInt(require(fields, "kvHeads")),
                    Integer.parseInt(require(fields, "headSize")),
                    Integer.parseInt(require(fields, "blockTokens")),
                    Integer.parseInt(require(fields, "tensorParallelSize")),
                    Integer.parseInt(require(fields, "tensorParallelRank")));
        } catch (IllegalArgumentException e) {
            throw new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT, "pool identity: " + e.getMessage() + " in " + text, e);
        }
    }

    /** The first {@value #DIGEST_DIGITS} hexadecimal digits of the SHA-256 of a canonical text. */
    public static String digest(String identity) {
        try {
            byte[] sha = MessageDigest.getInstance("SHA-256").digest(identity.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sha).substring(0, DIGEST_DIGITS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** The {@link #differences} that pools of one name must not have: all but those of the weights and what belongs to them. */
    public static List<String> mistakes(String left, String right) {
        return differences(left, right).stream()
                .filter(difference -> !WEIGHTS.contains(difference.substring(0, difference.indexOf(' '))))
                .toList();
    }

    /** What differs, one {@code name: left here, right there} each; empty when nothing does. */
    public static List<String> differences(String left, String right) {
        Map<String, String> ours = split(left);
        Map<String, String> theirs = split(right);
        List<String> found = new ArrayList<>();
        ours.forEach((name, value) -> {
            String other = theirs.getOrDefault(name, "nothing");
            if (!value.equals(other)) {
                found.add(name + " " + value + " against " + other);
            }
        });
        theirs.forEach((name, value) -> {
            if (!ours.containsKey(name)) {
                found.add(name + " nothing against " + value);
            }
        });
        return found;
    }

    private static Map<String, String> fields(KvIdentity identity) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("modelDigest", identity.modelDigest());
        fields.put("tokenizerDigest", identity.tokenizerDigest());
        fields.put("adapterDigest", identity.adapterDigest());
        fields.put("engineLayout", identity.engineLayout());
        fields.put("rope", identity.rope());
        fields.put("mode", identity.mode().name());
        fields.put("dataType", identity.dataType().name());
        fields.put("layers", Integer.toString(identity.layers()));
        fields.put("kvHeads", Integer.toString(identity.kvHeads()));
        fields.put("headSize", Integer.toString(identity.headSize()));
        fields.put("blockTokens", Integer.toString(identity.blockTokens()));
        fields.put("tensorParallelSize", Integer.toString(identity.tensorParallelSize()));
        fields.put("tensorParallelRank", Integer.toString(identity.tensorParallelRank()));
        return fields;
    }

    private static Map<String, String> split(String text) {
        Map<String, String> fields = new LinkedHashMap<>();
        for (String line : text.split("\n", -1)) {
            int at = line.indexOf('=');
            if (at > 0) {
                fields.put(line.substring(0, at), unescape(line.substring(at + 1)));
            }
        }
        return fields;
    }

    private static String unescape(String value) {
        StringBuilder plain = new StringBuilder(value.length());
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '\\' && i + 1 < value.length()) {
                i++;
                plain.append(value.charAt(i) == 'n' ? '\n' : value.charAt(i));
            } else {
                plain.append(c);
            }
        }
        return plain.toString();
    }

    private static String require(Map<String, String> fields, String name) {
        String value = fields.get(name);
        if (value == null) {
            throw new IllegalArgumentException("no " + name);
        }
        return value;
    }
}
