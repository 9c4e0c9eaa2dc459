// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.policy.EvictionPolicy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Which slot is whose, and which of a tenant's blocks goes when it may have no more.
 *
 * <p>A tenant's least worthy block is that of the least score among those that can go; of one score, the one used longest ago. At most
 * {@value #LOOKS} are looked at, in turn, so that with more the choice is the best of those; and with fewer it is exact.
 *
 * <p>Threading: accounts are for all threads; the owner of a slot is written by who fills it; the lists under the pool's change lock.
 */
final class TenantAccounts {
    private static final int LOOKS = 1024;

    private final long placeBytes;
    private final Map<String, TenantAccount> byName = new ConcurrentHashMap<>();
    private final @Nullable TenantAccount[] owners;
    /** Place of a slot in its owner's list. */
    private final int[] places;

    TenantAccounts(int slots, long placeBytes) {
        this.placeBytes = placeBytes;
        owners = new TenantAccount[slots];
        places = new int[slots];
    }

    TenantAccount of(String tenant) {
        TenantAccount account = byName.get(tenant);
        return account != null ? account : byName.computeIfAbsent(tenant, TenantAccount::new);
    }

    TenantUse use(String tenant) {
        TenantAccount account = byName.get(tenant);
        return account == null ? new TenantUse(tenant, 0, 0, TenantQuota.UNLIMITED, 0) : account.use(placeBytes);
    }

    List<TenantUse> all() {
        return byName.values().stream().map(account -> account.use(placeBytes)).toList();
    }

    void limit(String tenant, TenantQuota quota) {
        of(tenant).limit(quota, placeBytes);
    }

    // ------------------------------------------------------------------------------------------------------- slots

    /** The slot is {@code account}'s, which has taken a place for it. */
    void own(int slot, TenantAccount account) {
        owners[slot] = account;
    }

    /** The slot is nobody's any more. */
    void give(int slot) {
        TenantAccount owner = owners[slot];
        if (owner != null) {
            owners[slot] = null;
            owner.giveDram();
        }
    }

    /** Whose the slot is, for who holds it or the change lock. */
    @Nullable
    TenantAccount owner(int slot) {
        return owners[slot];
    }

    /** Whether any has more memory than it may. */
    boolean anyOver() {
        for (TenantAccount account : byName.values()) {
            if (account.isOverDram()) {
                return true;
            }
        }
        return false;
    }

    String tenant(int slot) {
        TenantAccount owner = owners[slot];
        return owner == null ? "" : owner.tenant;
    }

    /** There is a block of its owner in the slot. */
    void stored(int slot) {
        TenantAccount owner = owners[slot];
        if (owner != null) {
            owner.add(slot, places);
        }
    }

    /** There is not. */
    void removed(int slot) {
        TenantAccount owner = owners[slot];
        if (owner != null) {
            owner.remove(slot, places);
        }
    }

    /**
     * The least worthy block of {@code account} that can go, or {@link BlockSlab#NONE}.
     *
     * @param canGo whether nothing follows or holds the block in a slot
     */
    int leastWorthy(TenantAccount account, EvictionPolicy policy, IntPredicate canGo) {
        int least = BlockSlab.NONE;
        double leastScore = 0;
        int looked = 0;
        while (looked < account.slotCount && (looked < LOOKS || least == BlockSlab.NONE)) {
            int slot = account.slots[(account.lookAt + looked++) % account.slotCount];
            if (!canGo.test(slot)) {
                continue;
            }
            double score = policy.score(slot);
            if (least == BlockSlab.NONE
                    || score < leastScore
                    || score == leastScore && policy.lastUse(slot) < policy.lastUse(least)) {
                least = slot;
                leastScore = score;
            }
        }
        account.lookAt = account.slotCount == 0 ? 0 : (account.lookAt + looked) % account.slotCount;
        return least;
    }
}
