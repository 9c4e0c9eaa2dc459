// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Places that one tenant has taken in each tier. A place is taken before there is a block in it and given back when it is free, by
 * compare-and-set, so no moment shows more than the limit; one that is passed from a block of the tenant's to another stays taken.
 */
final class TenantAccount {
    final String tenant;
    final LongAdder refused = new LongAdder();
    private final Places dram = new Places();
    private final Places ssd = new Places();
    private volatile TenantQuota quota = TenantQuota.UNLIMITED;

    // Of the pool's RoomQueue, and guarded by it but where said otherwise.
    /** Whether something was given back since who waits for it looked last; set by who did. */
    volatile boolean stirred;
    /** Allocations that wait for its quota; written under the lock. */
    volatile int waiting;
    /** The pass in which {@code mayHaveRoom} was found out. */
    long lookedAt;

    boolean mayHaveRoom;

    /** Its sealed blocks, in no order. Guarded by the pool's change lock, as what follows. */
    int[] slots = new int[8];

    int slotCount;
    /** Where the next look for the least worthy of them begins. */
    int lookAt;

    TenantAccount(String tenant) {
        this.tenant = tenant;
    }

    void limit(TenantQuota quota, long placeBytes) {
        this.quota = quota;
        dram.limit((int) Math.min(Integer.MAX_VALUE, quota.dramBytes() / placeBytes));
        ssd.limit((int) Math.min(Integer.MAX_VALUE, quota.ssdBytes() / placeBytes));
    }

    TenantQuota quota() {
        return quota;
    }

    /** A place of memory; false when the limit is reached. */
    boolean takeDram() {
        return dram.take();
    }

    void giveDram() {
        dram.give();
    }

    boolean isOverDram() {
        return dram.areOver();
    }

    /** A place on the SSD; false when the limit is reached. */
    boolean takeSsd() {
        return ssd.take();
    }

    /** A place that is taken already, whatever the limit. */
    void addSsd() {
        ssd.add();
    }

    void giveSsd() {
        ssd.give();
    }

    /** Taken places in the lower half, the limit in the upper: so none is taken by a limit that is no more. */
    private static final class Places {
        private static final long TAKEN = 0xFFFF_FFFFL;

        private final AtomicLong state = new AtomicLong((long) Integer.MAX_VALUE << Integer.SIZE);

        boolean take() {
            long now = state.get();
            while (taken(now) < limit(now)) {
                if (state.compareAndSet(now, now + 1)) {
                    return true;
                }
                now = state.get();
            }
            return false;
        }

        void add() {
            state.incrementAndGet();
        }

        void give() {
            state.decrementAndGet();
        }

        void limit(int limit) {
            state.updateAndGet(now -> (long) limit << Integer.SIZE | now & TAKEN);
        }

        boolean areOver() {
            long now = state.get();
            return taken(now) > limit(now);
        }

        int taken() {
            return taken(state.get());
        }

        private static int taken(long state) {
            return (int) state;
        }

        private static int limit(long state) {
            return (int) (state >>> Integer.SIZE);
        }
    }

    TenantUse use(long placeBytes) {
        return new TenantUse(tenant, dram.taken() * placeBytes, ssd.taken() * placeBytes, quota, refused.sum());
    }

    void add(int slot, int[] places) {
        if (slotCount == slots.length) {
            slots = Arrays.copyOf(slots, 2 * slotCount);
        }
        places[slot] = slotCount;
        slots[slotCount++] = slot;
    }

    void remove(int slot, int[] places) {
        int place = places[slot];
        int last = slots[--slotCount];
        slots[place] = last;
        places[last] = place;
    }
}
