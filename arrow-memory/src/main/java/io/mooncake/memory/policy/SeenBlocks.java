// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.Arrays;

/**
 * The blocks that requests named lately, whether they are stored or not, as nodes of their chains' tree: names, parents, which stay a block belongs to and
 * which slot it is in. A block that is neither stored nor followed is forgotten some time after its last use, and earlier when there is no
 * room. One thread at a time; nothing is allocated after construction.
 */
final class SeenBlocks {
    static final int NONE = -1;
    /** Parent of the first block of a chain; {@link #NONE} is that of a block of which it is not known. */
    static final int FIRST = -2;
    /** A block of that name follows another one. */
    static final int ELSEWHERE = -3;

    private static final int MOST_SHARERS = 100;

    /** Asked whether a node that is not stored and not followed may be forgotten; told that it is. */
    interface Owner {
        boolean isOld(int node);

        void forgotten(int node);
    }

    private final int most;
    private final BlockMap byName;
    private final long[] names;
    private final int[] parents;
    private final int[] children;
    private final int[] branches;
    private final byte[] sharers;
    private final int[] stays;
    private final int[] slots;
    private final boolean[] used;
    private final int[] free;
    private int freeCount;
    private int hand;

    SeenBlocks(int most) {
        this.most = most;
        byName = new BlockMap(most);
        names = new long[most];
        parents = new int[most];
        children = new int[most];
        branches = new int[most];
        sharers = new byte[most];
        stays = new int[most];
        slots = new int[most];
        used = new boolean[most];
        free = new int[most];
        for (int node = most - 1; node >= 0; node--) {
            free[freeCount++] = node;
        }
        Arrays.fill(stays, NONE);
        Arrays.fill(slots, NONE);
    }

    int find(long name) {
        return byName.find(name);
    }

    /**
     * The node of {@code name} behind {@code parent}. One whose parent was not known has it from now on.
     *
     * @param parent or {@link #FIRST}
     * @return {@link #NONE} when there is none of that name, {@link #ELSEWHERE} when it is behind another one: names that collide
     */
    int find(long name, int parent) {
        int node = find(name);
        if (node == NONE || parents[node] == parent) {
            return node;
        }
        if (parents[node] != NONE || isAncestor(node, parent)) {
            return ELSEWHERE;
        }
        attach(node, parent);
        return node;
    }

    private void attach(int node, int parent) {
        parents[node] = parent;
        if (parent >= 0) {
            children[parent]++;
            branches[parent]++;
        }
    }

    private boolean isAncestor(int node, int of) {
        int at = of;
        while (at >= 0 && at != node) {
            at = parents[at];
        }
        return at == node;
    }

    /**
     * A new node behind {@code parent}, or {@link #NONE} when there is no room.
     *
     * @param name of which there is none
     * @param parent it is not forgotten for this; or {@link #FIRST}, or {@link #NONE} when it is not known
     */
    int add(long name, int parent, Owner owner) {
        for (int i = 0; i < most && freeCount == 0; i++) {
            forgetNext(parent, owner, true);
        }
        if (freeCount == 0) {
            return NONE;
        }
        int node = free[--freeCount];
        used[node] = true;
        names[node] = name;
        children[node] = 0;
        branches[node] = 0;
        sharers[node] = 0;
        attach(node, parent);
        byName.put(name, node);
        return node;
    }

    /** Looks at the next {@code nodes} for old ones to forget. */
    void forget(int nodes, Owner owner) {
        for (int i = 0; i < nodes; i++) {
            forgetNext(NONE, owner, false);
        }
    }

    private void forgetNext(int keep, Owner owner, boolean pressed) {
        hand = hand + 1 == most ? 0 : hand + 1;
        int node = hand;
        if (used[node]
                && slots[node] == NONE
                && children[node] == 0
                && node != keep
                && (pressed || owner.isOld(node))) {
            owner.forgotten(node);
            byName.remove(names[node]);
            used[node] = false;
            free[freeCount++] = node;
            int parent = parents[node];
            if (parent >= 0 && --children[parent] == 0) {
                hand = parent - 1; // next: a long chain would cost a round a block otherwise
            }
        }
    }

    /** For tests: blocks that are remembered but not found by their names. */
    int unreachable() {
        int count = 0;
        for (int node = 0; node < most; node++) {
            count += used[node] && find(names[node]) != node ? 1 : 0;
        }
        return count;
    }

    /** For tests: nodes that belong to stays. */
    int withStay() {
        int count = 0;
        for (int node = 0; node < most; node++) {
            count += stays[node] != NONE ? 1 : 0;
        }
        return count;
    }

    /** How many different blocks were seen behind {@code node}. */
    int branches(int node) {
        return branches[node];
    }

    /** How often {@code node} went over from one conversation to another, up to {@value #MOST_SHARERS}. */
    int sharers(int node) {
        return sharers[node];
    }

    void addSharer(int node) {
        sharers[node] = (byte) Math.min(sharers[node] + 1, MOST_SHARERS);
    }

    int stay(int node) {
        return stays[node];
    }

    void setStay(int node, int stay) {
        stays[node] = stay;
    }

    int slot(int node) {
        return slots[node];
    }

    void setSlot(int node, int slot) {
        slots[node] = slot;
    }
}
