// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import ai.djl.inference.Predictor;
import ai.djl.modality.nlp.generate.CausalLMOutput;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.TranslateException;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.TreeSet;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Finds out whether a model's KV may be reused, whatever the model declares: a prompt of 300 tokens is computed chunk by chunk; then it is
 * computed in one call; then, at five points, the KV before the point goes through cache blocks and back and only the rest is computed. The
 * logits after the last token must agree: to the bit where the point is a chunk border, within a tolerance elsewhere.
 *
 * <p>A model whose positions start anew in each call, whose keys depend on the total length, which drops or renumbers the past, or which
 * keeps state besides keys and values does not pass.
 */
public final class SelfTest {
    private static final int PROMPT_TOKENS = 300;
    private static final long SEED = 20_240_601;
    /** Relative to the largest logit; rounding of F32 stays two orders below, a wrong position far above. */
    private static final double TOLERANCE = 1e-3;

    private final Predictor<NDList, CausalLMOutput> predictor;
    private final BlockLayout layout;
    private final int[] prompt;
    private final List<String> failures = new ArrayList<>();
    private double largestDifference;

    private SelfTest(Predictor<NDList, CausalLMOutput> predictor, BlockLayout layout, int[] prompt) {
        this.predictor = predictor;
        this.layout = layout;
        this.prompt = prompt;
    }

    /**
     * What came out.
     *
     * @param failures empty where the model passed
     * @param largestDifference between logits of any two ways, relative to the largest logit
     * @param seconds it took
     */
    public record Report(List<String> failures, double largestDifference, double seconds) {
        public Report {
            failures = List.copyOf(failures);
        }

        /** Whether KV may be reused. */
        public boolean passed() {
            return failures.isEmpty();
        }

        /** Returns quietly where the model passed. @throws MooncakeException MODEL_REFUSED with all failures */
        public void requirePassed(String model) {
            if (!passed()) {
                throw new MooncakeException(
                        MooncakeException.Code.MODEL_REFUSED,
                        model + ": the self-test of KV reuse failed: " + String.join("; ", failures));
            }
        }
    }

    /** Runs the test for a model whose layers all look back to the first token; seconds on a real model. */
    public static Report run(
            Predictor<NDList, CausalLMOutput> predictor, BlockLayout layout, int vocabulary, int contextTokens) {
        return run(predictor, layout, vocabulary, contextTokens, 0);
    }

    /**
     * Runs the test, a second time with a prompt beyond the window where there is one: only there can a past that rolls be told from one
     * that is masked.
     *
     * @param predictor asked for one sequence at a time, left open
     * @param layout of its blocks; the block size is the chunk size
     * @param vocabulary token ids are below it
     * @param contextTokens longest sequence it takes
     * @param windowTokens the widest window of its layers, 0 for none
     */
    public static Report run(
            Predictor<NDList, CausalLMOutput> predictor,
            BlockLayout layout,
            int vocabulary,
            int contextTokens,
            int windowTokens) {
        if (windowTokens < 0) {
            throw MooncakeException.invalid("windowTokens", windowTokens, "0 or more");
        }
        Report first = runWith(predictor, layout, vocabulary, Math.min(PROMPT_TOKENS, contextTokens));
        long beyond = (long) windowTokens + 2L * layout.blockTokens() + 1;
        if (windowTokens == 0 || beyond <= PROMPT_TOKENS || !first.passed()) {
            return first;
        }
        Report second = runWith(predictor, layout, vocabulary, (int) Math.min(beyond, contextTokens));
        return new Report(
                second.failures(),
                Math.max(first.largestDifference(), second.largestDifference()),
                first.seconds() + second.seconds());
    }

    private static Report runWith(
            Predictor<NDList, CausalLMOutput> predictor, BlockLayout layout, int vocabulary, int promptTokens) {
        long start = System.nanoTime();
        int[] prompt = new Random(SEED).ints(promptTokens, 0, vocabulary).toArray();
        SelfTest test = new SelfTest(predictor, layout, prompt);
        try (NDManager manager = NDManager.newBaseManager("PyTorch");
                NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            test.compareAll(manager);
        } catch (TranslateException | RuntimeException e) {
            test.failures.add(String.valueOf(e.getMessage()));
        }
        return new Report(test.failures, test.largestDifference, (System.nanoTime() - start) / 1e9);
    }

    private void compareAll(NDManager manager) throws TranslateException {
        int tokens = prompt.length;
        CausalLMOutput reference = chunks(manager, new NDList(), 0);
        float[] expected = lastRow(reference.getLogits());
        CausalLMOutput whole = predictor.predict(CausalInputs.of(manager, prompt, 0, tokens, new NDList()));
        compare("one call of " + tokens + " tokens", lastRow(whole.getLogits()), expected, false);
        for (int point : points(tokens)) {
            NDList prefix = throughBlocks(manager, reference.getPastKeyValuesList(), point);
            float[] found = lastRow(chunks(manager, prefix, point).getLogits());
            compare(
                    "reuse of " + point + " of " + tokens + " tokens",
                    found,
                    expected,
                    point % layout.blockTokens() == 0);
        }
    }

    /** Three chunk borders and two points that are none, as far as the prompt allows. */
    private TreeSet<Integer> points(int tokens) {
        int chunk = layout.blockTokens();
        int last = (tokens - 1) / chunk * chunk;
        TreeSet<Integer> points = new TreeSet<>();
        points.add(chunk);
        points.add(last / chunk / 2 * chunk);
        points.add(last);
        points.add(tokens / 3);
        points.add(tokens - 1);
        points.removeIf(point -> point < 1 || point >= tokens);
        return points;
    }

    /** Feeds the prompt from {@code from} on in chunks that end at multiples of the block size. */
    private CausalLMOutput chunks(NDManager manager, NDList prefix, int from) throws TranslateException {
        NDList past = prefix;
        int position = from;
        while (true) {
            int to = Math.min(prompt.length, (position / layout.blockTokens() + 1) * layout.blockTokens());
            CausalLMOutput output = predictor.predict(CausalInputs.of(manager, prompt, position, to, past));
            requirePast(output.getPastKeyValuesList(), to);
            if (to == prompt.length) {
                return output;
            }
            past = output.getPastKeyValuesList();
            position = to;
        }
    }

    private void requirePast(NDList past, int tokens) {
        Shape expected = new Shape(1, layout.kvHeads(), tokens, layout.headSize());
        if (past.size() != 2 * layout.layers()) {
            throw MooncakeException.invalid("past", past.size() + " arrays", 2 * layout.layers() + " arrays");
        }
        for (NDArray array : past) {
            KvTensors.requireType("past", array.getDataType());
            if (!array.getShape().equals(expected)) {
                throw MooncakeException.invalid(
                        "past after " + tokens + " tokens", array.getShape(), expected + ", one entry a token fed");
            }
        }
    }

    /** The first {@code tokens} tokens of {@code past}, carried block by block as the cache carries them. */
    private NDList throughBlocks(NDManager manager, NDList past, int tokens) {
        NDList whole = new NDList();
        NDList prefix = new NDList();
        for (NDArray array : past) {
            NDArray copy = manager.create(array.getShape(), DataType.FLOAT32);
            copy.set(new NDIndex(":"), array);
            whole.add(copy);
            prefix.add(manager.create(new Shape(1, layout.kvHeads(), tokens, layout.headSize()), DataType.FLOAT32));
        }
        KvTensors from = KvTensors.over(whole, layout.layers(), layout.kvHeads(), layout.headSize());
        KvTensors to = KvTensors.over(prefix, layout.layers(), layout.kvHeads(), layout.headSize());
        long memory = MemoryUtil.allocateMemory(layout.payloadBytes());
        try {
            ArrowBuf block = new ArrowBuf(ReferenceManager.NO_OP, null, layout.payloadBytes(), memory);
            for (int first = 0; first < tokens; first += layout.blockTokens()) {
                int count = Math.min(layout.blockTokens(), tokens - first);
                from.writeBlock(block, layout, first, count);
                to.readBlock(block, layout, first, count);
            }
        } finally {
            MemoryUtil.freeMemory(memory);
        }
        return prefix;
    }

    private static float[] lastRow(NDArray logits) {
        long rows = logits.getShape().get(1);
        try (NDArray row = logits.get(new NDIndex("0, {}, :", rows - 1))) {
            return row.toFloatArray();
        }
    }

    private void compare(String what, float[] found, float[] expected, boolean bitwise) {
        double largest = 1e-30;
        double difference = 0;
        boolean same = found.length == expected.length;
        for (int i = 0; i < Math.min(found.length, expected.length); i++) {
            largest = Math.max(largest, Math.abs(expected[i]));
            // NaN must count as a difference.
            double apart = Math.abs((double) found[i] - expected[i]);
            difference = Double.isNaN(apart) ? Double.POSITIVE_INFINITY : Math.max(difference, apart);
            same &= Float.floatToRawIntBits(found[i]) == Float.floatToRawIntBits(expected[i]);
        }
        largestDifference = Math.max(largestDifference, difference / largest);
        if (bitwise && !same) {
            failures.add(String.format(
                    Locale.ROOT, "%s: logits differ by %.3g (expected: the same bits)", what, difference / largest));
        } else if (!(difference / largest <= TOLERANCE)) {
            failures.add(String.format(
                    Locale.ROOT,
                    "%s: logits differ by %.3g (expected: at most %.3g)",
                    what,
                    difference / largest,
                    TOLERANCE));
        }
    }
}
