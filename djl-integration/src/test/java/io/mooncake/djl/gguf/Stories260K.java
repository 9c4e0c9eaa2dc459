// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Writes the trained model stories260K, which is in the format of llama2.c, as GGUF. Both rotate neighbouring pairs of a head, so
 * the weights of queries and keys go over unpermuted.
 */
public final class Stories260K {
    /** One prompt with what an independent program made of it; logits are those after the prompt. */
    public record Golden(String prompt, int[] promptIds, int[] greedyIds, String text, float[] logits) {}

    private static final int UNKNOWN = 2;
    private static final int CONTROL = 3;
    private static final int NORMAL = 1;
    private static final int BYTE = 6;

    private Stories260K() {}

    /** The folder of the model, or a skipped test. */
    public static Path folder() {
        String value = System.getenv("MOONCAKE_TEST_DATA");
        boolean there = value != null && Files.isRegularFile(Path.of(value, "stories260K", "stories260K.bin"));
        assumeTrue(there, "MOONCAKE_TEST_DATA: " + value + " (expected: a folder with stories260K/stories260K.bin)");
        return Path.of(value, "stories260K");
    }

    /** Writes the model to {@code target}. */
    public static void write(Path target) throws IOException {
        GgufWriter out = new GgufWriter();
        ByteBuffer model = read("stories260K.bin");
        int[] head = new int[7];
        model.asIntBuffer().get(head);
        int dim = head[0];
        int hidden = head[1];
        int layers = head[2];
        int kvDim = dim / head[3] * head[4];
        int vocabulary = head[5];
        out.put("general.architecture", "llama")
                .put("general.name", "stories260K")
                .put("llama.block_count", layers)
                .put("llama.context_length", head[6])
                .put("llama.embedding_length", dim)
                .put("llama.feed_forward_length", hidden)
                .put("llama.attention.head_count", head[3])
                .put("llama.attention.head_count_kv", head[4])
                .put("llama.attention.layer_norm_rms_epsilon", 1e-5f)
                .put("llama.rope.freq_base", 10_000f)
                .put("llama.rope.dimension_count", dim / head[3])
                .put("llama.vocab_size", vocabulary);
        tokenizer(out, vocabulary);
        FloatBuffer weights =
                model.position(28).slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        out.tensor("token_embd.weight", take(weights, vocabulary * dim), dim, vocabulary);
        layers(out, weights, layers, "attn_norm", dim);
        layers(out, weights, layers, "attn_q", dim, dim);
        layers(out, weights, layers, "attn_k", dim, kvDim);
        layers(out, weights, layers, "attn_v", dim, kvDim);
        layers(out, weights, layers, "attn_output", dim, dim);
        layers(out, weights, layers, "ffn_norm", dim);
        layers(out, weights, layers, "ffn_gate", dim, hidden);
        layers(out, weights, layers, "ffn_down", hidden, dim);
        layers(out, weights, layers, "ffn_up", dim, hidden);
        out.tensor("output_norm.weight", take(weights, dim), dim);
        out.write(target);
    }

    /** The golden outputs. */
    public static List<Golden> golden() throws IOException {
        JsonObject json = new Gson().fromJson(Files.readString(folder().resolve("golden.json")), JsonObject.class);
        JsonArray cases = json.getAsJsonArray("cases");
        List<Golden> out = new ArrayList<>();
        for (JsonElement element : cases) {
            JsonObject one = element.getAsJsonObject();
            Gson gson = new Gson();
            out.add(new Golden(
                    one.get("prompt").getAsString(),
                    gson.fromJson(one.get("prompt_ids"), int[].class),
                    gson.fromJson(one.get("greedy_ids"), int[].class),
                    one.get("text").getAsString(),
                    gson.fromJson(one.get("logits_after_prompt"), float[].class)));
        }
        return out;
    }

    private static void tokenizer(GgufWriter out, int size) throws IOException {
        ByteBuffer in = read("tok512.bin");
        in.getInt();
        List<String> tokens = new ArrayList<>();
        float[] scores = new float[size];
        int[] types = new int[size];
        for (int id = 0; id < size; id++) {
            scores[id] = in.getFloat();
            byte[] bytes = new byte[in.getInt()];
            in.get(bytes);
            // llama2.c writes spaces where SentencePiece has its own sign, and line breaks around BOS and EOS.
            tokens.add(new String(bytes, StandardCharsets.UTF_8)
                    .replace(' ', '\u2581')
                    .strip());
            types[id] = id == 0 ? UNKNOWN : id < 3 ? CONTROL : id < 259 ? BYTE : NORMAL;
        }
        out.put("tokenizer.ggml.model", "llama")
                .put("tokenizer.ggml.tokens", tokens)
                .put("tokenizer.ggml.scores", scores)
                .put("tokenizer.ggml.token_type", types)
                .put("tokenizer.ggml.bos_token_id", 1)
                .put("tokenizer.ggml.eos_token_id", 2)
                .put("tokenizer.ggml.unknown_token_id", 0);
    }

    private static void layers(GgufWriter out, FloatBuffer weights, int layers, String name, long... dims) {
        int elements = Math.toIntExact(Arrays.stream(dims).reduce(1, Math::multiplyExact));
        for (int layer = 0; layer < layers; layer++) {
            out.tensor("blk." + layer + "." + name + ".weight", take(weights, elements), dims);
        }
    }

    private static float[] take(FloatBuffer weights, int count) {
        float[] out = new float[count];
        weights.get(out);
        return out;
    }

    private static ByteBuffer read(String name) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(folder().resolve(name))).order(ByteOrder.LITTLE_ENDIAN);
    }
}
