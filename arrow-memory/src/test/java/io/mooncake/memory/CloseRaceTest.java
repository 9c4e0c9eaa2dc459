// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static io.mooncake.memory.Pools.VOCABULARY;
import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.store;
import static io.mooncake.memory.Pools.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.policy.Policies;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The pool is closed in the middle of a call: its memory must stay until the call is done with it. */
class CloseRaceTest {
    private static final Runnable NOTHING = () -> {};

    private final SplittableRandom random = new SplittableRandom(21);
    private final AtomicReference<Runnable> onClock = new AtomicReference<>(NOTHING);
    private final AtomicBoolean freed = new AtomicBoolean();
    private final MemoryRegion region = MemoryRegion.allocate(1 << 20);
    private final LocalKvPool pool = pool(2);

    /** Runs {@code onClock} once in the middle of whatever asks the time. */
    private LocalKvPool pool(int blocks) {
        KvIdentity identity = identity(ReuseMode.EXACT);
        long bytes = blocks * LocalKvPool.blockStrideBytes(identity);
        BlockSlab slab = new BlockSlab(region.address(), 0, bytes, BlockLayout.of(identity));
        ChainIndex index = new ChainIndex(identity.blockTokens(), VOCABULARY, slab.slots());
        return new LocalKvPool(
                "race",
                identity,
                VOCABULARY,
                slab,
                index,
                Policies.lru(slab.slots()),
                () -> {
                    onClock.getAndSet(NOTHING).run();
                    return System.nanoTime();
                },
                SafetyChecks.ALL,
                () -> freed.set(true));
    }

    @AfterEach
    void free() {
        region.close();
    }

    private void closeInTheMiddle() {
        pool.close();
        assertThat(freed).as("freed under a call that is under way").isFalse();
    }

    @Test
    void pin_poolClosedMeanwhile_isRefusedAndKeepsTheMemoryUntilItEnds() {
        int[] prompt = tokens(random, BLOCK_TOKENS + 1);
        store(pool, Tenant.DEFAULT, prompt);
        BlockKey key = pool.chain(Tenant.DEFAULT, prompt).get(0);
        onClock.set(this::closeInTheMiddle);
        assertThatThrownBy(() -> pool.pin(key)).hasMessageContaining("closed");
        assertThat(freed).isTrue();
    }

    @Test
    void pin_missing_owesNothing() {
        BlockKey key = pool.chain(Tenant.DEFAULT, tokens(random, BLOCK_TOKENS)).get(0);
        assertThat(pool.pin(key)).isNull();
        assertThat(pool.stats().openLeases()).isZero();
        pool.close();
        assertThat(freed).isTrue();
        assertThatThrownBy(() -> pool.pin(key)).hasMessageContaining("closed");
    }

    @Test
    void forEachView_poolClosedMeanwhile_keepsTheMemoryUntilItEnds() {
        store(pool, Tenant.DEFAULT, tokens(random, BLOCK_TOKENS + 1));
        onClock.set(this::closeInTheMiddle);
        pool.forEachView(view -> assertThat(freed).isFalse());
        assertThat(freed).isTrue();
    }

    @Test
    void beginIncoming_poolClosedMeanwhile_isRefusedAndKeepsTheMemoryUntilItEnds() {
        store(pool, Tenant.DEFAULT, tokens(random, 2 * BLOCK_TOKENS));
        pool.addListener(new BlockListener() {
            @Override
            public void onStored(StoredBlock block) {}

            @Override
            public void onRemoved(BlockKey key, long generation) {
                closeInTheMiddle();
            }
        });
        BlockKey root = pool.root(Tenant.DEFAULT);
        int[] own = tokens(random, BLOCK_TOKENS);
        BlockKey key = pool.chain(Tenant.DEFAULT, own).get(0);
        assertThatThrownBy(() -> pool.beginIncoming(key, root, 0, own, Tenant.DEFAULT))
                .hasMessageContaining("closed");
        assertThat(freed).isTrue();
        assertThat(pool.stats().listenerErrors()).isZero();
    }

    @Test
    void listener_throwsAnError_othersAndLaterEventsStillCome() {
        AtomicReference<BlockKey> heard = new AtomicReference<>();
        AtomicBoolean thrown = new AtomicBoolean();
        pool.addListener(new BlockListener() {
            @Override
            public void onStored(StoredBlock block) {
                if (thrown.compareAndSet(false, true)) {
                    throw new AssertionError("a listener's own");
                }
                heard.set(block.key());
            }

            @Override
            public void onRemoved(BlockKey key, long generation) {}
        });
        store(pool, Tenant.DEFAULT, tokens(random, BLOCK_TOKENS));
        int[] second = tokens(random, BLOCK_TOKENS);
        store(pool, Tenant.DEFAULT, second);
        assertThat(heard).hasValue(pool.chain(Tenant.DEFAULT, second).get(0));
        assertThat(pool.stats().listenerErrors()).isEqualTo(1);
        pool.close();
    }
}
