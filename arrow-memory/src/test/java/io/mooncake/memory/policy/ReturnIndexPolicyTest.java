// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ReturnIndexPolicyTest {
    private static final long SECOND = 1_000_000_000L;

    private final ManualClock clock = new ManualClock();

    private static long[] chain(long first, int length) {
        long[] chain = new long[length];
        Arrays.setAll(chain, i -> first * 1_000 + i);
        return chain;
    }

    private int serve(ModelPool pool, Request request) {
        List<Integer> held = pool.acquire(new long[0], clock.nanos);
        long[] blocks = request.blocks();
        int hits = 0;
        while (hits < blocks.length && pool.slots.containsKey(blocks[hits])) {
            int slot = pool.slots.get(blocks[hits++]);
            pool.references.incrementAndGet(slot);
            pool.policy.touch(slot, clock.nanos);
            held.add(slot);
        }
        pool.policy.announce(request);
        pool.extend(blocks, held, clock.nanos);
        pool.release(held);
        return hits;
    }

    @Test
    void stored_answerBehindThePrompt_countsToItsConversation() {
        ReturnIndexPolicy policy = new ReturnIndexPolicy(16, clock);
        long[] prompt = chain(1, 3);
        policy.announce(Request.of(prompt).withTurn(4));
        for (int i = 0; i < 3; i++) {
            policy.touch(i, clock.nanos);
            policy.stored(i, prompt[i], prompt[Math.max(0, i - 1)], true);
        }
        policy.touch(3, clock.nanos);
        policy.stored(3, 1_003, 1_002, true); // an answer
        assertThat(policy.turn(1_003)).isEqualTo(4);
        clock.nanos += 60 * SECOND;
        policy.announce(Request.of(chain(1, 6)));
        policy.hear();
        assertThat(policy.turn(1_000)).isEqualTo(5);
        assertThat(policy.turn(1_005)).isEqualTo(5);
    }

    /** What is announced may be heard much later, when the next block is stored. */
    @Test
    void announce_heardLate_countsFromWhenItWasAnnounced() {
        ReturnIndexPolicy late = new ReturnIndexPolicy(16, clock);
        ReturnIndexPolicy soon = new ReturnIndexPolicy(16, clock);
        for (int i = 0; i < 40; i++) {
            clock.nanos += 30 * SECOND;
            for (ReturnIndexPolicy policy : List.of(late, soon)) {
                policy.announce(Request.of(chain(7, 4)));
            }
            soon.hear();
        }
        clock.nanos += SECOND;
        late.hear();
        soon.hear();
        assertThat(late.worth(7_000, clock.nanos))
                .isCloseTo(soon.worth(7_000, clock.nanos), within(soon.worth(7_000, clock.nanos) / 5));
    }

    /** Short answers are followed up after a minute, long ones never; there is room for a third of what comes in a minute. */
    @Test
    void evict_lengthOfTheAnswerTellsReturns_keepsWhatReturns() {
        int[] hits = new int[2];
        for (int way = 0; way < 2; way++) {
            clock.nanos = 0;
            EvictionPolicy policy = way == 0 ? Policies.lru(80) : Policies.returnIndex(80, clock);
            ModelPool pool = new ModelPool(policy, 80);
            for (int minute = 0; minute < 60; minute++) {
                for (int i = 0; i < 30; i++) {
                    clock.nanos += 2 * SECOND;
                    long conversation = 100L * minute + i;
                    boolean followed = i % 3 == 0;
                    serve(
                            pool,
                            Request.of(chain(conversation, 8))
                                    .withPromptTokens(4_000)
                                    .withAnswer(followed ? 10 : 500));
                    if (followed && minute > 0) {
                        hits[way] += serve(
                                pool,
                                Request.of(chain(conversation - 100, 9))
                                        .withPromptTokens(4_500)
                                        .withAnswer(500));
                    }
                }
            }
        }
        assertThat(hits[1]).isGreaterThan(3 * hits[0]).isGreaterThan(2_000);
    }

    @Test
    void admits_blocksThatNeverReturn_areRefusedForThoseThatDo() {
        ModelPool pool = new ModelPool(Policies.returnIndex(10, clock), 10);
        for (int i = 0; i < 300; i++) {
            clock.nanos += SECOND;
            serve(pool, Request.of(chain(1, 8)));
            serve(pool, Request.of(chain(1_000 + i, 20)));
        }
        assertThat(serve(pool, Request.of(chain(1, 8)))).isGreaterThanOrEqualTo(7);
    }

    @Test
    void admits_afterThreeDaysWithoutReturns_goesOn() {
        ModelPool pool = new ModelPool(Policies.returnIndex(8, clock), 8);
        for (int minute = 0; minute < 3 * 24 * 60; minute++) {
            clock.nanos += 60 * SECOND;
            serve(pool, Request.of(chain(1 + minute, 2)).withPromptTokens(1_000).withAnswer(10));
        }
        int admitted = 0;
        for (int i = 0; i < 20; i++) {
            clock.nanos += 60 * SECOND;
            serve(
                    pool,
                    Request.of(chain(100_000 + i, 2)).withPromptTokens(1_000).withAnswer(10));
            admitted += pool.slots.containsKey(1_000L * (100_000 + i)) ? 1 : 0;
        }
        assertThat(admitted).isPositive();
    }

    @Test
    void announce_beginAndEnd_isOneRequest() {
        ModelPool pool = new ModelPool(Policies.returnIndex(10, clock), 10);
        Request request = Request.of(chain(1, 4)).withPromptTokens(2_000);
        serve(pool, request);
        double before = pool.policy.score(pool.slots.get(1_000L));
        clock.nanos += SECOND;
        pool.policy.announce(request.afterEnd(5));
        ((LeafPolicy) pool.policy).hear();
        assertThat(pool.policy.score(pool.slots.get(1_000L)))
                .as("nothing returned")
                .isEqualTo(before);
    }

    @Test
    void touch_withoutAnnouncement_keepsTheBlock() {
        EvictionPolicy policy = Policies.returnIndex(4, clock);
        SharedPool pool = new SharedPool(policy, 4);
        for (int i = 0; i < 4; i++) {
            policy.touch(i, clock.nanos);
            pool.storeUnannounced(i);
        }
        clock.nanos = 700 * SECOND;
        pool.useAt(2, clock.nanos);
        for (int i = 0; i < 3; i++) {
            assertThat(policy.evict(pool)).isNotEqualTo(2);
        }
        assertThat(policy.evict(pool)).isEqualTo(2);
    }

    @Test
    void score_dearerBlocks_areWorthMore() {
        ModelPool pool = new ModelPool(Policies.returnIndex(16, clock), 16);
        serve(pool, Request.of(chain(1, 4)));
        serve(pool, Request.of(chain(2, 4)).withBlockCost(3));
        assertThat(pool.policy.score(pool.slots.get(2_000L)))
                .isGreaterThan(2.9 * pool.policy.score(pool.slots.get(1_000L)));
        assertThat(pool.policy.worth(2_001, clock.nanos)).isEqualTo(pool.policy.score(pool.slots.get(2_001L)));
    }

    /** What a tier below asks of blocks that went up to an hour ago. */
    @Test
    void worth_blockThatWasForgotten_fallsWithItsAge() {
        ReturnIndexPolicy policy = new ReturnIndexPolicy(16, clock);
        clock.nanos = 10_000 * SECOND;
        double before = Double.POSITIVE_INFINITY;
        for (int age : new int[] {0, 20, 100, 1_000, 2_500}) {
            double worth = policy.worth(99, clock.nanos - age * SECOND);
            assertThat(worth).as("after " + age + " s").isPositive().isLessThanOrEqualTo(before);
            before = worth;
        }
        assertThat(policy.worth(99, clock.nanos - 3_600 * SECOND)).isZero();
        assertThat(policy.worth(99, clock.nanos + SECOND)).isEqualTo(policy.worth(99, clock.nanos));
        policy.announce(Request.of(new long[] {98, 99}));
        policy.hear();
        assertThat(policy.worth(99, 0))
                .as("remembered: the caller's time is not needed")
                .isPositive();
    }

    @Test
    void worth_lru_isTheTimeOfTheLastUse() {
        EvictionPolicy policy = Policies.lru(2);
        policy.touch(1, 5);
        policy.stored(1, 8, 8, true);
        assertThat(policy.worth(9, 4)).isLessThan(policy.score(1));
        assertThat(policy.worth(9, 6)).isGreaterThan(policy.score(1));
    }

    @Test
    void announce_chainLongerThanItsMemory_isTakenInPart() {
        ModelPool pool = new ModelPool(Policies.returnIndex(4, clock), 4);
        for (int i = 0; i < 4; i++) {
            serve(pool, Request.of(chain(1_000L * i, 100_000)));
        }
        assertThat(pool.slots).hasSizeLessThanOrEqualTo(4);
    }

    @Test
    void request_wrongValues_areRefusedByName() {
        Request request = Request.of(chain(1, 2));
        assertThatThrownBy(() -> request.withPromptTokens(-2))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("promptTokens: -2");
        assertThatThrownBy(() -> request.withTurn(-7)).hasMessageContaining("turn: -7");
        assertThatThrownBy(() -> request.withBlockCost(0)).hasMessageContaining("blockCost: 0.0");
        assertThatThrownBy(() -> request.withBlockCost(Double.NaN)).hasMessageContaining("blockCost: NaN");
        assertThatThrownBy(() -> request.withBlockCost(1e39)).hasMessageContaining("blockCost: 1.0E39");
        assertThatThrownBy(() -> request.afterEnd(-3)).hasMessageContaining("outputTokens: -3");
        assertThatThrownBy(() -> Policies.lru(0)).hasMessageContaining("slots: 0");
        assertThatThrownBy(() -> Policies.byName("lrru", 4, clock)).hasMessageContaining("policy: lrru");
        assertThatThrownBy(() -> Policies.tinyLfu(4, 2)).hasMessageContaining("windowShare: 2.0");
    }
}
