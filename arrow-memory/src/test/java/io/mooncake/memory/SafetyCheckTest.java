// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.store;
import static io.mooncake.memory.Pools.tokens;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.block.ChainKeysTest;
import io.mooncake.memory.index.ChainIndex;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Each check, switched off, serves wrong bytes: so each one is what holds the line. */
class SafetyCheckTest {
    private final SplittableRandom random = new SplittableRandom(13);

    @Test
    void isCurrent_slotReused_isTrueOnlyWithTheGenerationCheckOff() {
        assertThat(staleHandleIsCurrent(true)).isFalse();
        assertThat(staleHandleIsCurrent(false)).isTrue();
    }

    private boolean staleHandleIsCurrent(boolean checkGenerations) {
        int[] first = tokens(random, BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 1, SafetyChecks.ALL, -1, true, checkGenerations)) {
            store(pool, Tenant.DEFAULT, first);
            PinnedBlock handle = pool.pin(pool.chain(Tenant.DEFAULT, first).get(0));
            handle.close();
            assertThat(pool.isCurrent(handle.offset(), handle.length(), handle.generation()))
                    .isTrue();
            store(pool, Tenant.DEFAULT, tokens(random, BLOCK_TOKENS + 1));
            return pool.isCurrent(handle.offset(), handle.length(), handle.generation());
        }
    }

    @Test
    void isCurrent_rangeOutsideOfThePayload_isFalse() {
        int[] prompt = tokens(random, 2 * BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 3)) {
            store(pool, Tenant.DEFAULT, prompt);
            try (PinnedBlock pin = pool.pin(pool.chain(Tenant.DEFAULT, prompt).get(1))) {
                long offset = pin.offset();
                long generation = pin.generation();
                assertThat(pool.isCurrent(offset, pin.length(), generation)).isTrue();
                assertThat(pool.isCurrent(offset + 1, pin.length() - 1, generation))
                        .isTrue();
                assertThat(pool.isCurrent(offset, pin.length() + 1, generation)).isFalse();
                assertThat(pool.isCurrent(offset - 1, 1, generation)).isFalse();
                assertThat(pool.isCurrent(offset, -1, generation)).isFalse();
                assertThat(pool.isCurrent(offset, Long.MAX_VALUE, generation)).isFalse();
                assertThat(pool.isCurrent(-1, 1, generation)).isFalse();
                assertThat(pool.isCurrent(Long.MAX_VALUE, 1, generation)).isFalse();
                assertThat(pool.isCurrent(offset, 1, generation + 1)).isFalse();
            }
            assertThat(pool.isCurrent(2 * LocalKvPool.blockStrideBytes(pool.identity()) + 4096, 1, 1))
                    .as("a free slot")
                    .isFalse();
        }
    }

    /** T24: lookup keys of 8 bits. Keys are held by two comparisons, tokens by one. */
    @Test
    void lookup_hashesOfEightBits_servesNoForeignBlock() {
        assertThat(foreign(SafetyChecks.ALL, true)).isEqualTo(new Foreign(0, 0));
        Foreign byHeader = foreign(SafetyChecks.ALL, false);
        assertThat(byHeader.pins()).as("the header's key still holds").isZero();
        assertThat(byHeader.leases()).isPositive();
        assertThat(foreign(new SafetyChecks(false, true, true), false).pins()).isPositive();
    }

    /** Foreign blocks served by key, and by tokens. */
    private record Foreign(int pins, int leases) {}

    private Foreign foreign(SafetyChecks checks, boolean compareInFull) {
        int blocks = Seeds.count(500, 5_000);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), blocks, checks, 0xFF, compareInFull, true)) {
            List<int[]> prompts = new ArrayList<>();
            for (int i = 0; i < blocks; i++) {
                int[] prompt = tokens(random, BLOCK_TOKENS + 1);
                prompts.add(prompt);
                storeBlindly(pool, prompt);
            }
            int pins = 0;
            int leases = 0;
            for (int i = 0; i < blocks; i++) {
                int[] prompt = i % 2 == 0 ? prompts.get(i) : tokens(random, BLOCK_TOKENS + 1);
                BlockKey key = pool.chain(Tenant.DEFAULT, prompt).get(0);
                PinnedBlock pin = pool.pin(key);
                if (pin != null) {
                    pins += pin.key().equals(key) ? 0 : 1;
                    pin.close();
                } else if (compareInFull && i % 2 == 0) {
                    throw new AssertionError("block " + i + " is lost");
                }
                try (PrefixLease lease = pool.acquire(prompt, Pools.soon())) {
                    boolean wrong =
                            lease.blockCount() > 0 && !Pools.isFilled(lease.block(0), pool.layout(), "default", key);
                    leases += wrong ? 1 : 0;
                }
            }
            return new Foreign(pins, leases);
        }
    }

    /** Without a look-up, whose wrong hits the writer would notice. */
    private static void storeBlindly(LocalKvPool pool, int[] prompt) {
        try (PrefixLease none = pool.withoutLookup();
                BlockWriter writer = pool.extend(none, prompt)) {
            Pools.fill(
                    writer.next(),
                    pool.layout(),
                    "default",
                    pool.chain(Tenant.DEFAULT, prompt).get(0));
            writer.publish();
        }
    }

    /** A look-up that was overtaken: between the index's answer and the lease, the slot got another block. */
    @Test
    void lease_slotGotAnotherBlock_isServedOnlyWithTheCheckOff() {
        assertThat(overtakenLease(SafetyChecks.ALL)).isFalse();
        assertThat(overtakenLease(new SafetyChecks(false, true, true))).isTrue();
    }

    private boolean overtakenLease(SafetyChecks checks) {
        int[] first = tokens(random, BLOCK_TOKENS + 1);
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), 1, checks, -1, true, true)) {
            store(pool, Tenant.DEFAULT, first);
            BlockKey key = pool.chain(Tenant.DEFAULT, first).get(0);
            long id = pool.store().index.find(key);
            store(pool, Tenant.DEFAULT, tokens(random, BLOCK_TOKENS + 1));
            boolean leased = pool.store().lease(id);
            if (leased) {
                pool.store().release(ChainIndex.slot(id));
            }
            return leased;
        }
    }

    /** T25: any one identity field flipped is another pool with other names, so nothing is shared, and neither takes the other's blocks. */
    @Test
    void pin_anyIdentityFieldDiffers_misses() {
        List<KvIdentity> identities = ChainKeysTest.flipped();
        KvIdentity plain = identities.get(0);
        int[] prompt = tokens(random, plain.blockTokens() + 1);
        try (LocalKvPool pool = pool(plain, 2)) {
            assertThat(store(pool, Tenant.DEFAULT, prompt)).isEqualTo(1);
            BlockKey own = pool.chain(Tenant.DEFAULT, prompt).get(0);
            Set<BlockKey> roots = new HashSet<>(Set.of(pool.root(Tenant.DEFAULT)));
            for (KvIdentity flipped : identities.subList(1, identities.size())) {
                try (LocalKvPool other = pool(flipped, 2)) {
                    BlockKey key = other.chain(Tenant.DEFAULT, prompt).get(0);
                    assertThat(pool.pin(key)).as("%s", flipped).isNull();
                    assertThat(store(other, Tenant.DEFAULT, prompt)).isPositive();
                    assertThat(other.pin(own)).as("%s", flipped).isNull();
                    assertThat(roots.add(other.root(Tenant.DEFAULT)))
                            .as("%s", flipped)
                            .isTrue();
                }
            }
            assertThat(roots).hasSize(14);
            PinnedBlock still = pool.pin(own);
            assertThat(still).isNotNull();
            still.close();
        }
    }
}
