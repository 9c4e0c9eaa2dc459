// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Places that one tenant has taken in each tier. A place is taken before there is a block in it and given back when it is free, by
 * compare-and-set, so no moment shows more than the limit; one that is passed from a block of the tenant's to another stays taken.
 */
final class TenantAccount {
    final String tenant;
    final LongAdder refused = new LongAdder();
    private final AtomicInteger dram = new AtomicInteger();
    private final AtomicInteger ssd = new AtomicInteger();
    private volatile TenantQuota quota = TenantQuota.UNLIMITED;
    private volatile int dramLimit = Integer.MAX_VALUE;
    private volatile int ssdLimit = Integer.MAX_VALUE;

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
        dramLimit = (int) Math.min(Integer.MAX_VALUE, quota.dramBytes() / placeBytes);
        ssdLimit = (int) Math.min(Integer.MAX_VALUE, quota.ssdBytes() / placeBytes);
    }

    TenantQuota quota() {
        return quota;
    }

    /** A place of memory; false when the limit is reached. */
    boolean takeDram() {
        return take(dram, dramLimit);
    }

    void giveDram() {
        dram.decrementAndGet();
    }

    boolean isOverDram() {
        return dram.get() > dramLimit;
    }

    /** A place on the SSD; false when the limit is reached. */
    boolean takeSsd() {
        return take(ssd, ssdLimit);
    }

    /** A place that is taken already, whatever the limit. */
    void addSsd() {
        ssd.incrementAndGet();
    }

    void giveSsd() {
        ssd.decrementAndGet();
    }

    private static boolean take(AtomicInteger taken, int limit) {
        int now = taken.get();
        while (now < limit) {
            if (taken.compareAndSet(now, now + 1)) {
                return true;
            }
            now = taken.get();
        }
        return false;
    }

    TenantUse use(long placeBytes) {
        return new TenantUse(tenant, dram.get() * placeBytes, ssd.get() * placeBytes, quota, refused.sum());
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
