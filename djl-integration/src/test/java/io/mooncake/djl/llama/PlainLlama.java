// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import io.mooncake.djl.gguf.GgufFile;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The same decoder in plain loops over doubles, token by token, with rotation of neighbouring pairs as the file orders them. */
final class PlainLlama {
    private final LlamaConfig config;
    private final List<float[][]> layers = new ArrayList<>();
    private final float[] embedding;
    private final float[] finalNorm;
    private final float[] output;

    private PlainLlama(LlamaGguf source) {
        config = source.config();
        int hidden = config.hidden();
        int queries = config.heads() * config.headSize();
        int keys = config.kvHeads() * config.headSize();
        embedding = read(source, "token_embd.weight", config.vocabulary(), hidden);
        finalNorm = read(source, "output_norm.weight", hidden);
        output = source.tiedEmbeddings() ? embedding : read(source, "output.weight", config.vocabulary(), hidden);
        for (int layer = 0; layer < config.layers(); layer++) {
            String prefix = "blk." + layer + ".";
            layers.add(new float[][] {
                read(source, prefix + "attn_norm.weight", hidden),
                read(source, prefix + "attn_q.weight", queries, hidden),
                read(source, prefix + "attn_k.weight", keys, hidden),
                read(source, prefix + "attn_v.weight", keys, hidden),
                read(source, prefix + "attn_output.weight", hidden, queries),
                read(source, prefix + "ffn_norm.weight", hidden),
                read(source, prefix + "ffn_gate.weight", config.feedForward(), hidden),
                read(source, prefix + "ffn_up.weight", config.feedForward(), hidden),
                read(source, prefix + "ffn_down.weight", hidden, config.feedForward())
            });
        }
    }

    static PlainLlama load(Path path) {
        try (GgufFile file = GgufFile.open(path)) {
            return new PlainLlama(new LlamaGguf(file));
        }
    }

    private static float[] read(LlamaGguf source, String name, long... shape) {
        long elements = 1;
        for (long length : shape) {
            elements *= length;
        }
        float[] values = new float[(int) elements];
        source.read(name, FloatBuffer.wrap(values), shape);
        return values;
    }

    float[][] logits(int[] tokens) {
        float[][] result = new float[tokens.length][];
        List<List<double[]>> keys = new ArrayList<>();
        List<List<double[]>> values = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            keys.add(new ArrayList<>());
            values.add(new ArrayList<>());
        }
        for (int position = 0; position < tokens.length; position++) {
            double[] x = new double[config.hidden()];
            for (int i = 0; i < x.length; i++) {
                x[i] = embedding[tokens[position] * x.length + i];
            }
            for (int layer = 0; layer < config.layers(); layer++) {
                float[][] w = layers.get(layer);
                double[] h = norm(x, w[0]);
                double[] q = rotate(product(w[1], h), position);
                keys.get(layer).add(rotate(product(w[2], h), position));
                values.get(layer).add(product(w[3], h));
                add(x, product(w[4], attend(q, keys.get(layer), values.get(layer))));
                h = norm(x, w[5]);
                double[] gate = product(w[6], h);
                double[] up = product(w[7], h);
                for (int i = 0; i < gate.length; i++) {
                    gate[i] = gate[i] / (1 + Math.exp(-gate[i])) * up[i];
                }
                add(x, product(w[8], gate));
            }
            double[] row = product(output, norm(x, finalNorm));
            result[position] = new float[row.length];
            for (int i = 0; i < row.length; i++) {
                result[position][i] = (float) row[i];
            }
        }
        return result;
    }

    private double[] attend(double[] q, List<double[]> keys, List<double[]> values) {
        int size = config.headSize();
        double[] out = new double[q.length];
        for (int head = 0; head < config.heads(); head++) {
            int shared = head / config.groups();
            double[] weights = new double[keys.size()];
            double max = Double.NEGATIVE_INFINITY;
            for (int t = 0; t < weights.length; t++) {
                for (int i = 0; i < size; i++) {
                    weights[t] += q[head * size + i] * keys.get(t)[shared * size + i];
                }
                weights[t] /= Math.sqrt(size);
                max = Math.max(max, weights[t]);
            }
            double sum = 0;
            for (int t = 0; t < weights.length; t++) {
                weights[t] = Math.exp(weights[t] - max);
                sum += weights[t];
            }
            for (int t = 0; t < weights.length; t++) {
                for (int i = 0; i < size; i++) {
                    out[head * size + i] += weights[t] / sum * values.get(t)[shared * size + i];
                }
            }
        }
        return out;
    }

    private double[] rotate(double[] x, int position) {
        int size = config.headSize();
        for (int start = 0; start < x.length; start += size) {
            for (int i = 0; i < config.ropeDims(); i += 2) {
                double angle = position * Math.pow(config.ropeBase(), -(double) i / config.ropeDims());
                double a = x[start + i];
                double b = x[start + i + 1];
                x[start + i] = a * Math.cos(angle) - b * Math.sin(angle);
                x[start + i + 1] = a * Math.sin(angle) + b * Math.cos(angle);
            }
        }
        return x;
    }

    private double[] norm(double[] x, float[] gain) {
        double sum = 0;
        for (double value : x) {
            sum += value * value;
        }
        double scale = 1 / Math.sqrt(sum / x.length + config.rmsEpsilon());
        double[] out = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            out[i] = x[i] * scale * gain[i];
        }
        return out;
    }

    private static double[] product(float[] matrix, double[] x) {
        double[] out = new double[matrix.length / x.length];
        for (int row = 0; row < out.length; row++) {
            for (int i = 0; i < x.length; i++) {
                out[row] += matrix[row * x.length + i] * x[i];
            }
        }
        return out;
    }

    private static void add(double[] x, double[] y) {
        for (int i = 0; i < x.length; i++) {
            x[i] += y[i];
        }
    }
}
