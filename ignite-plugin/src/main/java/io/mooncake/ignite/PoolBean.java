// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A pool as a Spring bean, for programs that make KV themselves. A pool of a model is brought by the model's extension instead.
 *
 * <p>Required: name, model, layers, kvHeads, headSize. {@code model} and {@code tokenizer} are any texts that change whenever the numbers
 * or ids change; their digests become the identity.
 */
public final class PoolBean {
    private String name = "";
    private String model = "";
    private String tokenizer = "";
    private String engineLayout = "custom-1";
    private String rope = "none";
    private ReuseMode mode = ReuseMode.EXACT;
    private KvDataType dataType = KvDataType.F32;
    private int layers;
    private int kvHeads;
    private int headSize;
    private int blockTokens = 64;
    private int vocabulary = Integer.MAX_VALUE;

    /** Name of the pool: 1..64 letters, digits, '.', '_' or '-'. */
    public PoolBean setName(String name) {
        this.name = name;
        return this;
    }

    /** What made the numbers, weights included: any text. */
    public PoolBean setModel(String model) {
        this.model = model;
        return this;
    }

    /** What made the token ids: any text; the model's when left out. */
    public PoolBean setTokenizer(String tokenizer) {
        this.tokenizer = tokenizer;
        return this;
    }

    /** Program and version that made the numbers; {@code custom-1} by default. */
    public PoolBean setEngineLayout(String engineLayout) {
        this.engineLayout = engineLayout;
        return this;
    }

    /** The position scheme in canonical text; {@code none} by default. */
    public PoolBean setRope(String rope) {
        this.rope = rope;
        return this;
    }

    /** Exact (the default) or fast reuse. */
    public PoolBean setMode(ReuseMode mode) {
        this.mode = mode;
        return this;
    }

    /** Element type; F32 by default. */
    public PoolBean setDataType(KvDataType dataType) {
        this.dataType = dataType;
        return this;
    }

    /** Attention layers, 1..1024. */
    public PoolBean setLayers(int layers) {
        this.layers = layers;
        return this;
    }

    /** Key and value heads a layer, 1..1024. */
    public PoolBean setKvHeads(int kvHeads) {
        this.kvHeads = kvHeads;
        return this;
    }

    /** Elements a head, 1..4096. */
    public PoolBean setHeadSize(int headSize) {
        this.headSize = headSize;
        return this;
    }

    /** Tokens a block, 1..4096; 64 by default. */
    public PoolBean setBlockTokens(int blockTokens) {
        this.blockTokens = blockTokens;
        return this;
    }

    /** Token ids are below this; no limit by default. */
    public PoolBean setVocabulary(int vocabulary) {
        this.vocabulary = vocabulary;
        return this;
    }

    /**
     * The pool this bean describes.
     *
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT naming the first value that is wrong
     */
    public PoolDefinition toDefinition() {
        KvIdentity identity = new KvIdentity(
                digest(model),
                digest(tokenizer.isEmpty() ? model : tokenizer),
                "",
                engineLayout,
                rope,
                mode,
                dataType,
                layers,
                kvHeads,
                headSize,
                blockTokens,
                1,
                0);
        return new PoolDefinition(name, identity, vocabulary);
    }

    private static String digest(String text) {
        if (text.isEmpty()) {
            throw io.mooncake.base.MooncakeException.invalid("model", text, "any text that names the weights");
        }
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            return HexFormat.of().formatHex(sha.digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
