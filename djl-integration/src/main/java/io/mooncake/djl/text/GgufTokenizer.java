// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.GgufMetadata;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tokenizer of a GGUF file. Special tokens are cut out first, the longest text first; what lies between them goes to the
 * {@link TokenModel}. Ids are those that llama.cpp gives.
 */
final class GgufTokenizer implements Tokenizer {
    private static final String MODEL = "tokenizer.ggml.model";
    private static final int[] NOTHING = {};

    private final Vocabulary vocabulary;
    private final TokenModel model;
    private final boolean addsBos;
    private final boolean stripsSpace;
    private final String digest;

    private GgufTokenizer(
            Vocabulary vocabulary, TokenModel model, boolean addsBos, boolean stripsSpace, String digest) {
        this.vocabulary = vocabulary;
        this.model = model;
        this.addsBos = addsBos;
        this.stripsSpace = stripsSpace;
        this.digest = digest;
    }

    static GgufTokenizer of(GgufMetadata metadata) {
        String kind = metadata.requireString(MODEL);
        boolean byteLevel = kind.equals("gpt2");
        if (!byteLevel && !kind.equals("llama")) {
            throw metadata.refused(MODEL, "gpt2 (byte-level BPE) or llama (SentencePiece BPE)");
        }
        Vocabulary vocabulary = new Vocabulary(metadata, byteLevel);
        Splitter splitter = byteLevel ? Splitter.of(metadata) : new Splitter("none", List.of());
        boolean addsBos = metadata.booleanOr("tokenizer.ggml.add_bos_token", !byteLevel || splitter.addsBos());
        if (addsBos && vocabulary.bosId() < 0) {
            throw metadata.refused("tokenizer.ggml.bos_token_id", "an id, as add_bos_token is true");
        }
        boolean spacePrefix = !byteLevel && metadata.booleanOr("tokenizer.ggml.add_space_prefix", true);
        TokenModel model = byteLevel
                ? new BytePairModel(metadata, vocabulary, splitter)
                : new SentencePieceModel(metadata, vocabulary, spacePrefix);
        String settings = kind + "/" + splitter.name() + "/" + addsBos + "/" + spacePrefix;
        return new GgufTokenizer(vocabulary, model, addsBos, spacePrefix, digest(metadata, vocabulary, settings));
    }

    @Override
    public int[] encode(String text) {
        IntList out = new IntList();
        if (addsBos) {
            out.add(vocabulary.bosId());
        }
        encode(text, new int[] {0, text.length()}, true, out);
        return out.toArray();
    }

    @Override
    public int[] encode(String text, boolean parseMarkers) {
        return encode(text, parseMarkers ? NOTHING : new int[] {0, text.length()});
    }

    @Override
    public int[] encode(String text, int[] untrusted) {
        return encodeAfter(NOTHING, text, untrusted);
    }

    @Override
    public int[] encodeAfter(int[] before, String text, int[] untrusted) {
        checkStretches(text, untrusted);
        IntList out = new IntList();
        boolean starts = before.length == 0 || vocabulary.isSpecial(before[before.length - 1]);
        encode(text, untrusted, starts, out);
        return out.toArray();
    }

    private static void checkStretches(String text, int[] untrusted) {
        int last = 0;
        for (int border : untrusted) {
            if (border < last || border > text.length() || untrusted.length % 2 != 0) {
                throw MooncakeException.invalid(
                        "untrusted", Arrays.toString(untrusted), "rising pairs within 0.." + text.length());
            }
            last = border;
        }
    }

    private void encode(String raw, int[] untrusted, boolean starts, IntList out) {
        String text = wellFormed(raw);
        List<SpecialCuts.Cut> cuts = SpecialCuts.find(vocabulary.specials(), text, untrusted);
        int done = 0;
        boolean first = starts;
        for (SpecialCuts.Cut cut : cuts) {
            if (cut.from() > done) {
                model.encode(text.substring(done, cut.from()), first, out);
            }
            out.add(cut.id());
            first = true;
            done = cut.to();
        }
        if (done < text.length()) {
            model.encode(text.substring(done), first, out);
        }
    }

    /** Puts U+FFFD for surrogates that have no partner, one for one, since UTF-8 has no bytes for them. */
    private static String wellFormed(String text) {
        char @Nullable [] fixed = null;
        for (int i = 0; i < text.length(); i++) {
            if (!Character.isSurrogate(text.charAt(i))) {
                continue;
            }
            if (Character.isSupplementaryCodePoint(text.codePointAt(i))) {
                i++;
                continue;
            }
            fixed = fixed == null ? text.toCharArray() : fixed;
            fixed[i] = '\ufffd';
        }
        return fixed == null ? text : new String(fixed);
    }

    @Override
    public String decode(int... ids) {
        return decode(ids, false);
    }

    @Override
    public String decodeWithMarkers(int... ids) {
        return decode(ids, true);
    }

    private String decode(int[] ids, boolean markers) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        boolean strip = stripsSpace;
        for (int id : ids) {
            if (vocabulary.isControl(id)) {
                if (markers) {
                    bytes.writeBytes(vocabulary.bytes(id));
                }
                continue;
            }
            byte[] token = vocabulary.bytes(id);
            int skip = strip && token.length > 0 && token[0] == ' ' ? 1 : 0;
            bytes.write(token, skip, token.length - skip);
            strip = false;
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Override
    public TokenDecoder newDecoder() {
        return new TokenDecoder(vocabulary);
    }

    @Override
    public int vocabularySize() {
        return vocabulary.size();
    }

    @Override
    public int bosId() {
        return vocabulary.bosId();
    }

    @Override
    public int eosId() {
        return vocabulary.eosId();
    }

    @Override
    public boolean addsBos() {
        return addsBos;
    }

    @Override
    public boolean endsAnswer(int id) {
        return vocabulary.endsAnswer(id);
    }

    @Override
    public boolean isControl(int id) {
        return vocabulary.isControl(id);
    }

    @Override
    public String digest() {
        return digest;
    }

    private static String digest(GgufMetadata metadata, Vocabulary vocabulary, String settings) {
        MessageDigest sha = sha256();
        add(sha, settings);
        for (int id = 0; id < vocabulary.size(); id++) {
            add(sha, vocabulary.text(id));
            add(sha, vocabulary.type(id));
        }
        if (metadata.contains("tokenizer.ggml.merges")) {
            metadata.requireStrings("tokenizer.ggml.merges").forEach(merge -> add(sha, merge));
        }
        for (float score : metadata.findFloats("tokenizer.ggml.scores").orElse(new float[0])) {
            add(sha, Float.floatToIntBits(score));
        }
        add(sha, vocabulary.bosId());
        add(sha, vocabulary.eosId());
        add(sha, vocabulary.unknownId());
        return HexFormat.of().formatHex(sha.digest());
    }

    private static void add(MessageDigest sha, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        add(sha, bytes.length);
        sha.update(bytes);
    }

    private static void add(MessageDigest sha, int number) {
        sha.update(ByteBuffer.allocate(4).putInt(number).flip());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new MooncakeException(MooncakeException.Code.INTERNAL, "this JDK has no SHA-256", e);
        }
    }
}
