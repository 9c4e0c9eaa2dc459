// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.RequestHints;
import io.mooncake.memory.ReuseMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

final class ChatEngineTest {
    private static Deadline soon() {
        return Deadline.ofMillis(60_000);
    }

    @Test
    void generate_overHundredPrompts_hasTheSameBitsWithReuse() {
        int prompts = TestModel.LONG ? 1_000 : 120;
        Random random = new Random(TestModel.SEED);
        ReuseAudit audit = new ReuseAudit();
        int reusedPrompts = 0;
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            List<int[]> seen = new ArrayList<>();
            for (int i = 0; i < prompts; i++) {
                int[] prompt = prompt(tiny, random, seen);
                seen.add(prompt);
                GenerationRequest request = GenerationRequest.of(prompt).maxNewTokens(4);
                Generation reused = engine.generate(request, tiny.pool, soon());
                Generation computed = engine.generate(request.withoutCache(), tiny.pool, soon());
                audit.compare(computed, reused);
                assertThat(reused.tokens())
                        .as("prompt %d seed %d", i, TestModel.SEED)
                        .containsExactly(computed.tokens());
                assertThat(reused.reusedTokens() % 64).isZero();
                assertThat(computed.missReason()).isEqualTo(MissReason.LOOKUP_DISABLED);
                reusedPrompts += reused.reusedTokens() > 0 ? 1 : 0;
            }
        }
        assertThat(audit.sameLogits()).as("seed %d", TestModel.SEED).isEqualTo(prompts);
        assertThat(audit.wrong() + audit.tolerated()).isZero();
        // About a third on average; the seed decides.
        assertThat(reusedPrompts).as("seed %d", TestModel.SEED).isGreaterThan(prompts / 10);
    }

    /** New, or branching off one seen before at any place. */
    private static int[] prompt(TestModel tiny, Random random, List<int[]> seen) {
        int[] fresh = tiny.prompt(random, 1 + random.nextInt(400));
        if (seen.isEmpty() || random.nextInt(4) == 0) {
            return fresh;
        }
        int[] base = seen.get(random.nextInt(seen.size()));
        int common = random.nextInt(base.length + 1);
        int[] both = Arrays.copyOf(base, common + fresh.length % 90 + 1);
        System.arraycopy(fresh, 0, both, common, Math.min(fresh.length, both.length - common));
        return both;
    }

    @Test
    void generate_fullyCachedPrompt_computesTheLastBlock() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 192);
            GenerationRequest request = GenerationRequest.of(prompt).maxNewTokens(3);
            Generation first = engine.generate(request, tiny.pool, soon());
            Generation second = engine.generate(request, tiny.pool, soon());
            assertThat(first.reusedTokens()).isZero();
            assertThat(first.missReason()).isEqualTo(MissReason.NOT_CACHED);
            assertThat(first.storedBlocks()).isEqualTo(3);
            assertThat(second.localTokens()).isEqualTo(128);
            assertThat(second.missReason()).isEqualTo(MissReason.NONE);
            assertThat(second.logitsDigest()).isEqualTo(first.logitsDigest());
            assertThat(second.firstTokenNanos()).isPositive();
        }
    }

    /** Blocks are named by the prompt's ids: a caller that reuses its array must not have them stored under other ones. */
    @Test
    void generate_promptChangedMeanwhile_storesUnderTheOldIds() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 100);
            int[] before = prompt.clone();
            engine.generate(
                    GenerationRequest.of(prompt).maxNewTokens(1).onToken(token -> prompt[3] = (prompt[3] + 1) % 500),
                    tiny.pool,
                    soon());
            int[] after = prompt.clone();
            assertThat(after).isNotEqualTo(before);
            for (int[] asked : List.of(before, after)) {
                GenerationRequest request = GenerationRequest.of(asked).maxNewTokens(1);
                Generation reused = engine.generate(request.cache(true, false), tiny.pool, soon());
                Generation computed = engine.generate(request.withoutCache(), tiny.pool, soon());
                assertThat(reused.reusedTokens()).isEqualTo(asked == before ? 64 : 0);
                assertThat(reused.logitsDigest()).isEqualTo(computed.logitsDigest());
            }
        }
    }

    @Test
    void generate_hintsAndAnswer_reachThePool() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            WatchedPool pool = new WatchedPool(tiny.pool);
            GenerationRequest request = GenerationRequest.of(tiny.prompt(new Random(TestModel.SEED), 100))
                    .maxNewTokens(3);
            engine.generate(request, pool, soon());
            engine.generate(request.hints(new RequestHints(4, 2.5)), pool, soon());
            engine.generate(request.withoutCache(), pool, soon());
            assertThat(pool.hints).containsExactly(RequestHints.NONE, new RequestHints(4, 2.5));
            assertThat(pool.answers).containsExactly(3, 3);
        }
    }

    @Test
    void generate_poolOfAnotherModelOfThatShape_isRefused() {
        try (TestModel tiny = TestModel.exact();
                TestModel other = TestModel.exact()) {
            KvIdentity mine = tiny.identity;
            KvIdentity foreign = new KvIdentity(
                    "ab".repeat(32),
                    mine.tokenizerDigest(),
                    mine.adapterDigest(),
                    mine.engineLayout(),
                    mine.rope(),
                    mine.mode(),
                    mine.dataType(),
                    mine.layers(),
                    mine.kvHeads(),
                    mine.headSize(),
                    mine.blockTokens(),
                    1,
                    0);
            GenerationRequest request =
                    GenerationRequest.of(new int[] {1, 2, 3}).maxNewTokens(1);
            try (ChatEngine engine = new ChatEngine(tiny.model, foreign)) {
                assertThatThrownBy(() -> engine.generate(request, tiny.pool, soon()))
                        .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                                .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT))
                        .hasMessageContaining("modelDigest=" + mine.modelDigest())
                        .hasMessageContaining("modelDigest=" + "ab".repeat(32));
            }
            try (ChatEngine engine = new ChatEngine(tiny.model, mine)) {
                assertThat(engine.generate(request, tiny.pool, soon()).tokens()).hasSize(1);
            }
        }
    }

    @Test
    void generate_exactMode_neverStoresDecodedTokens() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 100);
            Generation answer = engine.generate(GenerationRequest.of(prompt).maxNewTokens(100), tiny.pool, soon());
            assertThat(answer.storedBlocks()).isEqualTo(1);
            assertThat(tiny.pool.stats().blocks()).isEqualTo(1);
        }
    }

    @Test
    void generate_fastMode_storesDecodedTokensAndReusesPartsOfBlocks() {
        int prompts = TestModel.LONG ? 150 : 25;
        Random random = new Random(TestModel.SEED);
        ReuseAudit audit = new ReuseAudit();
        boolean partial = false;
        try (TestModel tiny = TestModel.create(TinyLlama.Shape.standard(), ReuseMode.FAST, 16);
                ChatEngine engine = new ChatEngine(tiny.model)) {
            for (int i = 0; i < prompts; i++) {
                int[] prompt = tiny.prompt(random, 20 + random.nextInt(120));
                Generation first = engine.generate(GenerationRequest.of(prompt).maxNewTokens(40), tiny.pool, soon());
                assertThat(first.storedBlocks()).isGreaterThanOrEqualTo((prompt.length + 39) / 16 - 1);
                int[] next = Arrays.copyOf(prompt, prompt.length + 30 + random.nextInt(20));
                System.arraycopy(first.tokens(), 0, next, prompt.length, 30);
                GenerationRequest request = GenerationRequest.of(next).maxNewTokens(8);
                Generation reused = engine.generate(request, tiny.pool, soon());
                Generation computed = engine.generate(request.withoutCache(), tiny.pool, soon());
                assertThat(audit.compare(computed, reused))
                        .as("seed %d", TestModel.SEED)
                        .isNotEqualTo(ReuseAudit.Verdict.WRONG);
                assertThat(reused.reusedTokens()).isGreaterThanOrEqualTo(prompt.length);
                partial |= reused.reusedTokens() % 16 != 0;
            }
        }
        System.out.printf(
                "fast mode: %d compared, %d bit-identical, %d tolerated, %d wrong%n",
                audit.compared(), audit.sameLogits(), audit.tolerated(), audit.wrong());
        assertThat(partial).as("some reuse ends inside a block").isTrue();
        assertThat(audit.wrong()).isZero();
    }

    @Test
    void compare_ofDifferingTokens_passesOnlyAlmostEqualChoices() {
        ReuseAudit audit = new ReuseAudit();
        Generation one = generation(new int[] {1, 2}, new float[] {1, 5e-4f}, "a");
        assertThat(audit.compare(one, generation(new int[] {1, 3}, new float[] {1, 1}, "a")))
                .isEqualTo(ReuseAudit.Verdict.TOLERATED);
        assertThat(audit.compare(one, generation(new int[] {4, 2}, new float[] {1, 1}, "b")))
                .isEqualTo(ReuseAudit.Verdict.WRONG);
        assertThat(audit.compare(one, one)).isEqualTo(ReuseAudit.Verdict.SAME);
        assertThat(new long[] {audit.compared(), audit.sameLogits(), audit.tolerated(), audit.wrong()})
                .containsExactly(3, 2, 1, 1);
    }

    private static Generation generation(int[] tokens, float[] gaps, String digest) {
        return new Generation(
                tokens,
                Generation.Finish.LENGTH,
                1,
                0,
                0,
                MissReason.NONE,
                0,
                1,
                0,
                0,
                1,
                1,
                digest,
                new float[0],
                gaps);
    }

    @Test
    void generate_byTwoThreads_answersBothAlike() throws Exception {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 200);
            ExecutorService threads = Executors.newFixedThreadPool(3);
            try {
                List<Future<Generation>> answers = new ArrayList<>();
                for (int i = 0; i < 30; i++) {
                    answers.add(threads.submit(
                            () -> engine.generate(GenerationRequest.of(prompt).maxNewTokens(5), tiny.pool, soon())));
                }
                Generation expected = answers.get(0).get();
                for (Future<Generation> answer : answers) {
                    assertThat(answer.get().tokens()).containsExactly(expected.tokens());
                    assertThat(answer.get().logitsDigest()).isEqualTo(expected.logitsDigest());
                }
            } finally {
                threads.shutdownNow();
            }
        }
    }

    @Test
    void close_duringGeneration_endsItAndRefusesMore() throws Exception {
        try (TestModel tiny = TestModel.exact()) {
            ChatEngine engine = new ChatEngine(tiny.model);
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 100);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                var started = new java.util.concurrent.CountDownLatch(1);
                Future<Generation> answer = thread.submit(() -> engine.generate(
                        GenerationRequest.of(prompt).maxNewTokens(3_000).onToken(token -> {
                            started.countDown();
                            // All of them take long enough to be interrupted.
                            LockSupport.parkNanos(5_000_000);
                        }),
                        tiny.pool,
                        soon()));
                started.await();
                engine.close();
                assertThat(answer.get().finish()).isEqualTo(Generation.Finish.DEADLINE);
                assertThatThrownBy(() -> engine.generate(GenerationRequest.of(prompt), tiny.pool, soon()))
                        .isInstanceOf(MooncakeException.class)
                        .hasMessageContaining("closed");
            } finally {
                thread.shutdownNow();
            }
        }
    }

    @Test
    void generate_stopTokenAndCallback_endTheAnswer() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 20);
            GenerationRequest request = GenerationRequest.of(prompt).maxNewTokens(20);
            int[] free = engine.generate(request, tiny.pool, soon()).tokens();
            List<Integer> told = new ArrayList<>();
            Generation stopped = engine.generate(request.stopAt(Set.of(free[3])).onToken(told::add), tiny.pool, soon());
            assertThat(stopped.finish()).isEqualTo(Generation.Finish.STOP);
            assertThat(stopped.tokens()[stopped.tokens().length - 1]).isEqualTo(free[3]);
            assertThat(told)
                    .containsExactlyElementsOf(
                            Arrays.stream(stopped.tokens()).boxed().toList());
        }
    }

    @Test
    void generate_passedDeadline_isRefusedAndLaterWorks() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            int[] prompt = tiny.prompt(new Random(TestModel.SEED), 2000);
            assertThatThrownBy(() -> engine.generate(GenerationRequest.of(prompt), tiny.pool, Deadline.ofMillis(1)))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.DEADLINE_EXCEEDED));
            assertThat(tiny.pool.stats().openLeases()).isZero();
            assertThat(engine.generate(GenerationRequest.of(prompt).maxNewTokens(1), tiny.pool, soon())
                            .tokens())
                    .hasSize(1);
        }
    }

    @Test
    void generate_sampled_repeatsFromItsSeed() {
        try (TestModel tiny = TestModel.exact();
                ChatEngine engine = new ChatEngine(tiny.model)) {
            GenerationRequest request = GenerationRequest.of(tiny.prompt(new Random(TestModel.SEED), 20))
                    .maxNewTokens(30);
            Sampling warm = new Sampling(1.5, 0.9, 42);
            int[] first =
                    engine.generate(request.sampling(warm), tiny.pool, soon()).tokens();
            int[] second =
                    engine.generate(request.sampling(warm), tiny.pool, soon()).tokens();
            int[] other = engine.generate(request.sampling(new Sampling(1.5, 0.9, 43)), tiny.pool, soon())
                    .tokens();
            assertThat(first).containsExactly(second).isNotEqualTo(other);
        }
    }

    @Test
    void generate_poolOfAnotherShape_isRefused() {
        try (TestModel tiny = TestModel.exact();
                TestModel other = TestModel.create(
                        new TinyLlama.Shape(2, 64, 4, 2, 128, 4096, 10_000f, false), ReuseMode.EXACT, 64);
                ChatEngine engine = new ChatEngine(tiny.model)) {
            assertThatThrownBy(() -> engine.generate(GenerationRequest.of(new int[] {1}), other.pool, soon()))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("BlockLayout[layers=2")
                    .hasMessageContaining("layers=4");
        }
    }
}
