// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.KvSemantics;
import io.mooncake.djl.KvSemantics.Positions;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.gguf.GgufMetadata;
import io.mooncake.djl.gguf.GgufTensor;
import java.nio.FloatBuffer;
import java.util.Collections;

/** What a GGUF file of architecture llama says about its decoder: shape, KV semantics, weights. Reads the header only, until asked for weights. */
public final class LlamaGguf implements WeightSource {
    private static final String ARCHITECTURE = "general.architecture";
    /** Elements of a matrix that Java can see as one buffer. */
    private static final long MAX_ELEMENTS = Integer.MAX_VALUE / Float.BYTES;

    private final GgufFile file;
    private final LlamaConfig config;
    private final KvSemantics semantics;

    /**
     * @param file open for as long as weights are read
     * @throws MooncakeException MODEL_REFUSED naming file, key, value and expectation
     */
    public LlamaGguf(GgufFile file) {
        this.file = file;
        GgufMetadata metadata = file.metadata();
        if (!metadata.requireString(ARCHITECTURE).equals("llama")) {
            throw metadata.refused(ARCHITECTURE, "llama");
        }
        if (metadata.intOr("llama.expert_count", 0) > 0) {
            throw metadata.refused("llama.expert_count", "0: mixtures of experts are not known here");
        }
        this.config = readConfig(metadata);
        this.semantics = readSemantics(metadata);
        requireTensors();
    }

    private LlamaConfig readConfig(GgufMetadata metadata) {
        int hidden = metadata.requireInt("llama.embedding_length");
        int heads = metadata.requireInt("llama.attention.head_count");
        if (heads < 1 || hidden < heads) {
            throw metadata.refused("llama.attention.head_count", "1.." + hidden);
        }
        int headSize = metadata.intOr("llama.attention.key_length", hidden / heads);
        if (metadata.intOr("llama.attention.value_length", headSize) != headSize) {
            throw metadata.refused("llama.attention.value_length", "the key length " + headSize);
        }
        try {
            return config(metadata, hidden, heads, headSize);
        } catch (ArithmeticException | MooncakeException e) {
            // The shape's own check knows neither file nor architecture.
            throw e instanceof MooncakeException refused
                            && String.valueOf(e.getMessage())
                                    .startsWith(file.path().toString())
                    ? refused
                    : new MooncakeException(
                            MooncakeException.Code.MODEL_REFUSED,
                            file.path() + ": metadata llama: " + e.getMessage(),
                            e);
        }
    }

    private LlamaConfig config(GgufMetadata metadata, int hidden, int heads, int headSize) {
        String scaling = metadata.findString("llama.rope.scaling.type").orElse("none");
        float factor = metadata.floatOr("llama.rope.scaling.factor", 1);
        return new LlamaConfig(
                metadata.requireInt("llama.block_count"),
                hidden,
                heads,
                metadata.intOr("llama.attention.head_count_kv", heads),
                headSize,
                metadata.requireInt("llama.feed_forward_length"),
                vocabulary(metadata),
                metadata.requireInt("llama.context_length"),
                metadata.intOr("llama.rope.dimension_count", headSize),
                metadata.floatOr("llama.rope.freq_base", 10_000),
                scaling.equals("linear") && factor != 0 ? factor : 1,
                metadata.requireFloat("llama.attention.layer_norm_rms_epsilon"));
    }

    private int vocabulary(GgufMetadata metadata) {
        // The embedding decides: some files pad it beyond the token list.
        GgufTensor embedding = file.findTensor("token_embd.weight")
                .orElseThrow(() -> metadata.refused(ARCHITECTURE, "a file with the tensor token_embd.weight"));
        return Math.toIntExact(embedding.dims().get(embedding.dims().size() - 1));
    }

    private KvSemantics readSemantics(GgufMetadata metadata) {
        Positions positions =
                switch (metadata.findString("llama.rope.scaling.type").orElse("none")) {
                    case "none" -> Positions.STATIC_ROPE;
                    case "linear" -> Positions.LINEAR_ROPE;
                    case "dynamic", "ntk", "dynamic_ntk" -> Positions.DYNAMIC_NTK;
                    case "longrope", "su" -> Positions.LONG_ROPE;
                    default -> Positions.UNKNOWN;
                };
        if (contains("rope_factors_long.weight") || contains("rope_factors_short.weight")) {
            positions = Positions.LONG_ROPE;
        }
        int window = metadata.intOr("llama.attention.sliding_window", 0);
        boolean causal = metadata.booleanOr("llama.attention.causal", true);
        return new KvSemantics(positions, Collections.nCopies(config.layers(), window), causal, false, false);
    }

    /** Every tensor that the decoder reads is there in its shape, found out before a byte of them is read. */
    private void requireTensors() {
        long hidden = config.hidden();
        long queries = (long) config.heads() * config.headSize();
        long keys = (long) config.kvHeads() * config.headSize();
        file.requireTensor("token_embd.weight", hidden, config.vocabulary());
        file.requireTensor("output_norm.weight", hidden);
        if (contains("output.weight")) {
            file.requireTensor("output.weight", hidden, config.vocabulary());
        }
        if (contains("rope_freqs.weight")) {
            file.requireTensor("rope_freqs.weight", config.ropeDims() / 2);
        }
        long widest = Math.max(config.vocabulary(), Math.max(queries + 2 * keys, 2L * config.feedForward()));
        if (widest * hidden > MAX_ELEMENTS) {
            throw file.metadata()
                    .refused(
                            "llama.embedding_length",
                            "at most " + MAX_ELEMENTS / widest
                                    + ": matrices of F32 are limited to 2 GiB here, and the widest has " + widest
                                    + " rows");
        }
        for (int layer = 0; layer < config.layers(); layer++) {
            String prefix = "blk." + layer + ".";
            file.requireTensor(prefix + "attn_norm.weight", hidden);
            file.requireTensor(prefix + "attn_q.weight", hidden, queries);
            file.requireTensor(prefix + "attn_k.weight", hidden, keys);
            file.requireTensor(prefix + "attn_v.weight", hidden, keys);
            file.requireTensor(prefix + "attn_output.weight", queries, hidden);
            file.requireTensor(prefix + "ffn_norm.weight", hidden);
            file.requireTensor(prefix + "ffn_gate.weight", hidden, config.feedForward());
            file.requireTensor(prefix + "ffn_up.weight", hidden, config.feedForward());
            file.requireTensor(prefix + "ffn_down.weight", config.feedForward(), hidden);
        }
        for (GgufTensor tensor : file.tensors()) {
            if (tensor.name().endsWith(".bias")) {
                throw file.metadata().refused(ARCHITECTURE, "a decoder without biases, but there is " + tensor.name());
            }
        }
    }

    /** The decoder's shape. */
    public LlamaConfig config() {
        return config;
    }

    /** What it declares about its KV. */
    public KvSemantics semantics() {
        return semantics;
    }

    /** Whether the output matrix is the embedding. */
    public boolean tiedEmbeddings() {
        return !contains("output.weight");
    }

    /** Memory that the loaded weights take: F32, and an output matrix also where it is the embedding turned round. */
    public long weightBytes() {
        return config.parameters(false) * Float.BYTES;
    }

    @Override
    public boolean contains(String name) {
        return file.findTensor(name).isPresent();
    }

    @Override
    public void read(String name, FloatBuffer destination, long... shape) {
        long[] dims = new long[shape.length];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = shape[shape.length - 1 - i];
        }
        file.dequantize(file.requireTensor(name, dims), destination);
    }
}
