// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.isFilled;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static io.mooncake.memory.Pools.store;
import static io.mooncake.memory.Pools.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.IncomingBlock.Outcome;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.Test;

/** Blocks that come from a peer: here another pool of the same process. */
class IncomingBlockTest {
    private final SplittableRandom random = new SplittableRandom(11);

    @Test
    void commit_fetchedBlocks_extendTheMatch() {
        int[] prompt = tokens(random, 4 * BLOCK_TOKENS + 3);
        try (LocalKvPool owner = pool(identity(ReuseMode.EXACT), 8);
                LocalKvPool reader = pool(identity(ReuseMode.EXACT), 8)) {
            store(owner, Tenant.DEFAULT, prompt);
            store(reader, Tenant.DEFAULT, Arrays.copyOf(prompt, BLOCK_TOKENS));
            try (LocalMatch match = reader.match(Tenant.DEFAULT, prompt)) {
                int local = match.matchedTokens();
                assertThat(match.wholeBlocks()).isEqualTo(1);
                assertThat(match.complete()).isFalse();
                for (BlockKey key : owner.chain(Tenant.DEFAULT, prompt).subList(1, 4)) {
                    assertThat(fetch(owner, reader, key, match)).isEqualTo(Outcome.STORED);
                }
                assertThat(match.complete()).isTrue();
                try (PrefixLease lease = match.toLease(local, MissReason.NOT_CACHED)) {
                    assertThat(lease.matchedTokens()).isEqualTo(4 * BLOCK_TOKENS);
                    assertThat(lease.localTokens()).isEqualTo(BLOCK_TOKENS);
                    assertThat(lease.remoteTokens()).isEqualTo(3 * BLOCK_TOKENS);
                    assertThat(lease.missReason()).isEqualTo(MissReason.NONE);
                    for (int i = 0; i < 4; i++) {
                        BlockKey key = reader.chain(Tenant.DEFAULT, prompt).get(i);
                        assertThat(isFilled(lease.block(i), reader.layout(), "default", key))
                                .isTrue();
                    }
                    assertThatThrownBy(match::extendLocally).hasMessageContaining("ended");
                }
            }
            assertThat(reader.stats().remoteTokens()).isEqualTo(3 * BLOCK_TOKENS);
            assertThat(owner.stats().openLeases()).isZero();
        }
    }

    @Test
    void extendLocally_fastMode_replacesPartByWholeBlock() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS + 1);
        int[] similar = prompt.clone();
        similar[5] = (similar[5] + 1) % Pools.VOCABULARY;
        try (LocalKvPool owner = pool(identity(ReuseMode.FAST), 8);
                LocalKvPool reader = pool(identity(ReuseMode.FAST), 8)) {
            store(owner, Tenant.DEFAULT, prompt);
            store(reader, Tenant.DEFAULT, similar);
            try (LocalMatch match = reader.match(Tenant.DEFAULT, prompt)) {
                assertThat(match.matchedTokens()).isEqualTo(5);
                assertThat(match.wholeBlocks()).isZero();
                fetch(owner, reader, owner.chain(Tenant.DEFAULT, prompt).get(0), match);
                assertThat(match.matchedTokens()).isEqualTo(BLOCK_TOKENS);
                assertThat(match.wholeBlocks()).isEqualTo(1);
            }
            assertThat(reader.stats().openLeases()).isZero();
            assertThat(store(reader, Tenant.DEFAULT, tokens(random, 8 * BLOCK_TOKENS)))
                    .isEqualTo(8);
        }
    }

    @Test
    void commit_keyIsThere_keepsTheExistingBlock() {
        int[] prompt = tokens(random, BLOCK_TOKENS + 1);
        try (LocalKvPool owner = pool(identity(ReuseMode.EXACT), 2);
                LocalKvPool reader = pool(identity(ReuseMode.EXACT), 2)) {
            store(owner, Tenant.DEFAULT, prompt);
            store(reader, Tenant.DEFAULT, prompt);
            BlockKey key = owner.chain(Tenant.DEFAULT, prompt).get(0);
            try (LocalMatch match = reader.match(Tenant.DEFAULT, prompt)) {
                assertThat(fetch(owner, reader, key, match)).isEqualTo(Outcome.KEPT_EXISTING);
            }
            assertThat(reader.stats().freeBlocks()).isEqualTo(1);
            assertThat(reader.stats().blocks()).isEqualTo(1);
        }
    }

    @Test
    void commit_afterCommitOrClose_isRefused() {
        try (LocalKvPool reader = pool(identity(ReuseMode.EXACT), 2)) {
            BlockKey root = reader.root(Tenant.DEFAULT);
            int[] own = tokens(random, BLOCK_TOKENS);
            BlockKey key = reader.chain(Tenant.DEFAULT, own).get(0);
            IncomingBlock abandoned = reader.beginIncoming(key, root, 0, own, Tenant.DEFAULT);
            abandoned.abandon();
            abandoned.close();
            assertThatThrownBy(() -> abandoned.commit(new int[3])).hasMessageContaining("CLOSED");
            assertThat(reader.stats().freeBlocks()).isEqualTo(2);
            assertThatThrownBy(() -> reader.beginIncoming(key, root, 0, new int[3], Tenant.DEFAULT))
                    .hasMessageContaining("tokens.length: 3 (expected: 8)");
            assertThatThrownBy(() -> reader.beginIncoming(key, root, -1, own, Tenant.DEFAULT))
                    .hasMessageContaining("depth: -1");
        }
    }

    @Test
    void commit_bytesOfAnotherBlock_areServedOnlyWithTheIdentityCheckOff() {
        assertThat(serveForeign(new SafetyChecks(true, true, true), false)).isEqualTo(Outcome.WRONG_IDENTITY);
        assertThat(serveForeign(new SafetyChecks(true, false, true), true)).isEqualTo(Outcome.STORED);
    }

    /** A peer answers the request for one key with another block: its tokens, its bytes and its checksums. */
    private Outcome serveForeign(SafetyChecks checks, boolean wrongBytes) {
        int[] wanted = tokens(random, BLOCK_TOKENS + 1);
        int[] foreign = tokens(random, BLOCK_TOKENS + 1);
        try (LocalKvPool owner = pool(identity(ReuseMode.EXACT), 4);
                LocalKvPool reader = pool(identity(ReuseMode.EXACT), 4, checks, -1, true, true)) {
            store(owner, Tenant.DEFAULT, foreign);
            BlockKey wantedKey = reader.chain(Tenant.DEFAULT, wanted).get(0);
            BlockKey foreignKey = owner.chain(Tenant.DEFAULT, foreign).get(0);
            Outcome outcome;
            try (PinnedBlock pin = owner.pin(foreignKey);
                    IncomingBlock in = reader.beginIncoming(
                            wantedKey, reader.root(Tenant.DEFAULT), 0, pin.tokens(), Tenant.DEFAULT)) {
                MemoryUtil.copyMemory(pin.address(), in.address(), pin.length());
                outcome = in.commit(pin.layerChecksums());
            }
            PinnedBlock served = reader.pin(wantedKey);
            assertThat(served != null).isEqualTo(wrongBytes);
            if (served != null) {
                served.close();
            }
            return outcome;
        }
    }

    @Test
    void commit_tornBytes_areServedOnlyWithTheChecksumCheckOff() {
        assertThat(serveTorn(new SafetyChecks(true, true, true), false)).isEqualTo(Outcome.WRONG_CHECKSUM);
        assertThat(serveTorn(new SafetyChecks(true, true, false), true)).isEqualTo(Outcome.STORED);
    }

    private Outcome serveTorn(SafetyChecks checks, boolean wrongBytes) {
        int[] prompt = tokens(random, BLOCK_TOKENS + 1);
        try (LocalKvPool owner = pool(identity(ReuseMode.EXACT), 4);
                LocalKvPool reader = pool(identity(ReuseMode.EXACT), 4, checks, -1, true, true)) {
            store(owner, Tenant.DEFAULT, prompt);
            BlockKey key = owner.chain(Tenant.DEFAULT, prompt).get(0);
            Outcome outcome;
            try (PinnedBlock pin = owner.pin(key);
                    IncomingBlock in =
                            reader.beginIncoming(key, pin.parent(), pin.depth(), pin.tokens(), Tenant.DEFAULT)) {
                MemoryUtil.copyMemory(pin.address(), in.address(), pin.length());
                long middle = in.address() + in.length() / 2;
                MemoryUtil.putByte(middle, (byte) (MemoryUtil.getByte(middle) + 1));
                outcome = in.commit(pin.layerChecksums());
            }
            boolean served = false;
            try (PrefixLease lease = reader.acquire(prompt, soon())) {
                served = lease.blockCount() > 0 && !isFilled(lease.block(0), reader.layout(), "default", key);
            }
            assertThat(served).isEqualTo(wrongBytes);
            return outcome;
        }
    }

    private static Outcome fetch(LocalKvPool owner, LocalKvPool reader, BlockKey key, LocalMatch match) {
        try (PinnedBlock pin = owner.pin(key);
                IncomingBlock in = reader.beginIncoming(key, pin.parent(), pin.depth(), pin.tokens(), Tenant.DEFAULT)) {
            assertThat(in.length()).isEqualTo(pin.length());
            assertThat(reader.pin(key))
                    .as("not visible before commit, unless it was there")
                    .satisfies(p -> {
                        if (p != null) {
                            ((PinnedBlock) p).close();
                        }
                    });
            MemoryUtil.copyMemory(pin.address(), in.address(), pin.length());
            Outcome outcome = in.commit(pin.layerChecksums());
            match.extendLocally();
            return outcome;
        }
    }
}
