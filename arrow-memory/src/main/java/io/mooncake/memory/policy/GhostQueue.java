// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Names of blocks that went, oldest first: a linked list in arrays. One thread at a time. */
final class GhostQueue {
    private static final int NONE = -1;

    private final int most;
    private final BlockMap places;
    private final long[] names;
    private final int[] counts;
    private final int[] older;
    private final int[] newer;
    private int oldest = NONE;
    private int newest = NONE;
    private int free;
    private int size;

    /** @param most names; the oldest falls out */
    GhostQueue(int most) {
        this.most = most;
        int length = Math.max(most, 1);
        names = new long[length];
        counts = new int[length];
        older = new int[length];
        newer = new int[length];
        places = new BlockMap(length);
        for (int i = 0; i < length; i++) {
            newer[i] = i + 1 < length ? i + 1 : NONE;
        }
    }

    int size() {
        return size;
    }

    boolean contains(long name) {
        return places.find(name) != NONE;
    }

    /** Adds {@code name} as the newest. */
    void add(long name) {
        add(name, 0);
    }

    /** The same with a count beside it. */
    void add(long name, int count) {
        if (most == 0) {
            return;
        }
        remove(name);
        if (free == NONE) {
            remove(names[oldest]);
        }
        int at = free;
        free = newer[at];
        names[at] = name;
        counts[at] = count;
        older[at] = newest;
        newer[at] = NONE;
        if (newest == NONE) {
            oldest = at;
        } else {
            newer[newest] = at;
        }
        newest = at;
        places.put(name, at);
        size++;
    }

    /** The count beside {@code name}, 0 when it is not there. */
    int count(long name) {
        int at = places.find(name);
        return at == NONE ? 0 : counts[at];
    }

    /** Whether it was there. */
    boolean remove(long name) {
        int at = places.find(name);
        if (at == NONE) {
            return false;
        }
        if (older[at] == NONE) {
            oldest = newer[at];
        } else {
            newer[older[at]] = newer[at];
        }
        if (newer[at] == NONE) {
            newest = older[at];
        } else {
            older[newer[at]] = older[at];
        }
        newer[at] = free;
        free = at;
        places.remove(name);
        size--;
        return true;
    }

    /** Drops the oldest until at most {@code most} are left. */
    void trim(int most) {
        while (size > Math.max(most, 0)) {
            remove(names[oldest]);
        }
    }
}
