// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;

/**
 * A tiny Llama with seeded random weights, a byte-level BPE vocabulary of 512 tokens and a ChatML template, as a GGUF file of about
 * a megabyte: for tests and dry runs. Its text means nothing; its arithmetic, its tokenizer and its metadata are those of a real
 * model. The same seed and shape give the same bytes everywhere.
 */
public final class TinyLlama {
    private static final String CHAT_TEMPLATE =
            "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n'"
                    + " + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
                    + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

    /**
     * The shape of the model.
     *
     * @param layers decoder layers
     * @param dim width; a multiple of {@code heads} with an even quotient
     * @param heads query heads
     * @param kvHeads key and value heads, a divisor of {@code heads}
     * @param hidden width of the feed-forward part
     * @param contextTokens longest context that the metadata allows
     * @param ropeBase frequency base of the rotary embedding
     * @param tiedEmbeddings whether the output layer is the embedding table
     */
    public record Shape(
            int layers,
            int dim,
            int heads,
            int kvHeads,
            int hidden,
            int contextTokens,
            float ropeBase,
            boolean tiedEmbeddings) {
        public Shape {
            if (layers < 1 || hidden < 1 || contextTokens < 1) {
                throw MooncakeException.invalid(
                        "layers, hidden, contextTokens",
                        layers + ", " + hidden + ", " + contextTokens,
                        "each at least 1");
            }
            if (heads < 1 || dim < 1 || dim % heads != 0 || dim / heads % 2 != 0) {
                throw MooncakeException.invalid("dim", dim, "an even multiple of heads " + heads);
            }
            if (kvHeads < 1 || heads % kvHeads != 0) {
                throw MooncakeException.invalid("kvHeads", kvHeads, "a divisor of heads " + heads);
            }
        }

        /** 4 layers of width 64, 4 heads of 16 over 2 key-value heads, 4,096 tokens. */
        public static Shape standard() {
            return new Shape(4, 64, 4, 2, 128, 4096, 10_000f, false);
        }
    }

    private TinyLlama() {}

    /** Writes the {@linkplain Shape#standard() standard} model. */
    public static void write(Path path, long seed) throws IOException {
        write(path, seed, Shape.standard());
    }

    /** Writes a model of that shape to {@code path}, replacing what is there. */
    public static void write(Path path, long seed, Shape shape) throws IOException {
        writer(seed, shape).write(path);
    }

    /** A writer that holds the whole model, for tests that add to it before they write. */
    public static GgufWriter writer(long seed, Shape shape) {
        GgufWriter out = new GgufWriter();
        metadata(out, shape);
        TinyVocabulary.build().put(out);
        out.put("tokenizer.chat_template", CHAT_TEMPLATE);
        weights(out, new Random(seed), shape);
        return out;
    }

    private static void metadata(GgufWriter out, Shape shape) {
        out.put("general.architecture", "llama")
                .put("general.name", "tiny seeded llama")
                .put("llama.block_count", shape.layers())
                .put("llama.context_length", shape.contextTokens())
                .put("llama.embedding_length", shape.dim())
                .put("llama.feed_forward_length", shape.hidden())
                .put("llama.attention.head_count", shape.heads())
                .put("llama.attention.head_count_kv", shape.kvHeads())
                .put("llama.attention.layer_norm_rms_epsilon", 1e-5f)
                .put("llama.rope.freq_base", shape.ropeBase())
                .put("llama.rope.dimension_count", shape.dim() / shape.heads())
                .put("llama.vocab_size", TinyVocabulary.SIZE);
    }

    private static void weights(GgufWriter out, Random random, Shape shape) {
        int dim = shape.dim();
        int kvDim = dim / shape.heads() * shape.kvHeads();
        int hidden = shape.hidden();
        matrix(out, random, "token_embd.weight", dim, TinyVocabulary.SIZE, 1);
        for (int layer = 0; layer < shape.layers(); layer++) {
            String block = "blk." + layer + ".";
            norm(out, random, block + "attn_norm.weight", dim);
            // Sharp attention: with flat scores a wrong position or a lost token would hardly show in the logits.
            matrix(out, random, block + "attn_q.weight", dim, dim, 2);
            matrix(out, random, block + "attn_k.weight", dim, kvDim, 2);
            matrix(out, random, block + "attn_v.weight", dim, kvDim, 1);
            matrix(out, random, block + "attn_output.weight", dim, dim, 1);
            norm(out, random, block + "ffn_norm.weight", dim);
            matrix(out, random, block + "ffn_gate.weight", dim, hidden, 1);
            matrix(out, random, block + "ffn_up.weight", dim, hidden, 1);
            matrix(out, random, block + "ffn_down.weight", hidden, dim, 1);
        }
        norm(out, random, "output_norm.weight", dim);
        if (!shape.tiedEmbeddings()) {
            matrix(out, random, "output.weight", dim, TinyVocabulary.SIZE, 2);
        }
    }

    private static void matrix(GgufWriter out, Random random, String name, int inputs, int outputs, float gain) {
        float[] values = new float[inputs * outputs];
        double deviation = gain / Math.sqrt(inputs);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (random.nextGaussian() * deviation);
        }
        out.tensor(name, values, inputs, outputs);
    }

    private static void norm(GgufWriter out, Random random, String name, int length) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = 1 + 0.1f * (random.nextFloat() - 0.5f);
        }
        out.tensor(name, values, length);
    }
}
