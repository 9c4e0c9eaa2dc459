// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.memory.Seeds;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What concurrent callers, tiers below and colliding names do to the return index: it neither learns wrongly nor loses count. */
final class RepeatedRequestsTest {
    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000 * MILLI;
    private static final long UNSEEN = -1;
    private static final int PROMPTS = 300;

    private final ManualClock clock = new ManualClock();
    private final ReturnIndexPolicy policy = new ReturnIndexPolicy(64, clock);

    private static Request prompt(long number) {
        long[] chain = new long[7];
        Arrays.setAll(chain, i -> number * 1_000 + i);
        return Request.of(chain).withPromptTokens(100);
    }

    /** What a block of no known request is worth after prompts that are asked for {@code times} each, {@code gap} after each other, and then ended. */
    private static double learned(int times, long gap, int ends) {
        ManualClock clock = new ManualClock();
        ReturnIndexPolicy policy = new ReturnIndexPolicy(64, clock);
        for (int i = 0; i < PROMPTS; i++) {
            clock.nanos += 2 * SECOND;
            Request request = prompt(i);
            for (int time = 0; time < times; time++) {
                policy.announce(request);
                policy.hear();
                clock.nanos += gap;
            }
            clock.nanos += 8 * SECOND - times * gap;
            for (int end = 0; end < ends; end++) {
                policy.announce(request.afterEnd(100));
                policy.hear();
            }
        }
        return policy.worth(UNSEEN, clock.nanos);
    }

    @Test
    void announce_samePromptTwiceAtOnce_teachesWhatOneTeaches() {
        double once = learned(1, 0, 1);
        for (long gap : new long[] {0, MILLI, 100 * MILLI, 900 * MILLI}) {
            assertThat(learned(2, gap, 2)).as("again after " + gap + " ns").isCloseTo(once, within(once / 100));
        }
        assertThat(learned(2, 3 * SECOND, 2)).as("a return").isGreaterThan(2 * once);
    }

    @Test
    void announce_secondEndOfARequest_isIgnored() {
        assertThat(learned(1, 0, 2)).isEqualTo(learned(1, 0, 1));
    }

    @Test
    void announce_endOfWhatDidNotBegin_isIgnored() {
        policy.announce(prompt(5).afterEnd(10));
        policy.hear();
        assertThat(policy.turn(5_000)).isEqualTo(EvictionPolicy.NONE);
    }

    /** Everybody asks at once about one document: its blocks do return, but no faster than can be made use of. */
    @Test
    void announce_manyQuestionsAtOnceAboutOneDocument_leaveOtherBlocksTheirWorth() {
        double before = learned(1, 0, 1);
        for (int document = 0; document < PROMPTS; document++) {
            clock.nanos += 10 * SECOND;
            for (int question = 0; question < 5; question++) {
                long[] chain = prompt(document).blocks().clone();
                chain[6] = 1_000_000L + 10 * document + question;
                policy.announce(Request.of(chain).withPromptTokens(100));
                policy.hear();
            }
        }
        assertThat(policy.worth(UNSEEN, clock.nanos)).isBetween(before / 100, 1.0 / ReturnModel.LEAST_SECONDS);
    }

    /** The pool was idle, or its clock jumped: many stays have to pass many bins, and what returns first must not wait for its turn. */
    @Test
    void announce_returnAfterAnIdleHalfHour_isOneOfThatAge() {
        for (int i = 0; i < 2_000; i++) {
            clock.nanos += 10 * MILLI;
            policy.announce(prompt(i));
            policy.hear();
        }
        double before = policy.worth(UNSEEN, clock.nanos);
        clock.nanos += 1_700 * SECOND;
        for (int i = 1_900; i < 2_000; i++) {
            policy.announce(prompt(i));
            policy.hear();
        }
        assertThat(policy.worth(UNSEEN, clock.nanos)).as("young blocks").isLessThan(2 * before);
        assertThat(policy.worth(UNSEEN, clock.nanos - 1_700 * SECOND))
                .as("of that age")
                .isGreaterThan(2 * before);
    }

    /** A block that was brought up for a peer came before anything was known of its prompt. */
    @Test
    void announce_blockThatCameWithoutItsParent_isTheOneThatIsStored() {
        policy.touch(0, clock.nanos);
        policy.stored(0, 3, 2, true);
        for (int i = 0; i < 5; i++) {
            clock.nanos += 60 * SECOND;
            policy.announce(Request.of(new long[] {1, 2, 3, 4}));
            policy.hear();
        }
        assertThat(policy.score(0)).isEqualTo(policy.worth(3, clock.nanos)).isPositive();
        assertThat(policy.isConsistent()).isTrue();
    }

    /** A block that is loaded for a peer is pinned for it a moment later, which is what it came for. */
    @Test
    void touch_justAfterTheBlockCame_isNoReturn() {
        double[] learned = new double[2];
        for (int way = 0; way < 2; way++) {
            clock.nanos = 0;
            ReturnIndexPolicy loaded = new ReturnIndexPolicy(16, clock);
            SharedPool pool = new SharedPool(loaded, 16);
            for (int i = 0; i < PROMPTS; i++) {
                clock.nanos += 2 * SECOND;
                int slot = pool.replaceBy(i, i);
                clock.nanos += 5 * MILLI;
                if (way == 1) {
                    loaded.touch(slot, clock.nanos);
                }
            }
            learned[way] = loaded.worth(UNSEEN, clock.nanos);
        }
        assertThat(learned[1]).isCloseTo(learned[0], within(learned[0] / 100));
    }

    /** Chains that share names as no keys do, blocks without their parents, too little memory: nothing is counted wrongly. */
    @Test
    void announce_collidingNamesAndOrphansWithoutRoom_staysConsistent() {
        SplittableRandom random = Seeds.random("announce_collidingNames");
        for (int round = 0; round < Seeds.count(20, 2_000); round++) {
            ReturnIndexPolicy small = new ReturnIndexPolicy(16, clock, 64);
            SharedPool pool = new SharedPool(small, 16);
            for (int i = 0; i < 500; i++) {
                clock.nanos += random.nextLong(20 * SECOND);
                long[] chain = new long[random.nextInt(1, 40)];
                for (int at = 0; at < chain.length; at++) {
                    chain[at] = random.nextInt(at == 0 ? 5 : 90);
                }
                Request request = Request.of(chain);
                small.announce(random.nextInt(4) == 0 ? request.afterEnd(3) : request);
                int at = random.nextInt(chain.length);
                pool.replaceBy(chain[at], chain[Math.max(0, at - random.nextInt(2))]);
                assertThat(small.isConsistent()).as("step " + i).isTrue();
            }
        }
    }
}
