// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * Keeps the blocks with the highest return index: the most returns that a block promises for each second that it takes a place.
 *
 * <p>A request says which blocks its prompt has. As far as they are {@linkplain SeenBlocks known}, stored or not, it returns to them, which
 * ends {@linkplain Stays stays} and teaches the {@linkplain ReturnModel model}. When it reaches almost to the end of an earlier request, and
 * the tree is narrow there, it continues that request: it is the next turn of that conversation. Its blocks, old and new, then begin new
 * stays, one for each {@linkplain BlockClass class}, under its {@linkplain Traits traits}.
 *
 * <p>The leaf with the least index goes. A new block is admitted if its index is not below that of the block that would go; this is what keeps
 * blocks out that are used once.
 *
 * <p>A use that is touched but not announced counts too, when its block comes to the top: the block then begins a stay of its own, of the same
 * class and traits, at the time of that use. So a pool that announces nothing has a policy that has learned the ages at which blocks return.
 */
final class ReturnIndexPolicy extends LeafPolicy implements SeenBlocks.Owner {
    static final String NAME = "return-index";

    /** Blocks that are not stored are remembered so long after their last use. */
    private static final long REMEMBER_MILLIS = 600_000;

    /** The same prompt sooner than this is the same request. */
    private static final long REPEATED_MILLIS = 1_000;

    private static final int LEAST_NODES = 1 << 16;
    private static final int NODES_A_SLOT = 2;
    /** A follow-up has all of the blocks of the request that it continues but so many at its end. */
    private static final int CHANGED_AT_END = 2;
    /** More branches than these behind the last common block: a prefix that others share too, no conversation. */
    private static final int NARROW = 2;

    private static final int NODES_CHECKED_A_BLOCK = 2;

    private final LongSupplier nanoClock;
    private final ReturnModel model;
    private final Stays stays;
    private final SeenBlocks seen;
    /** Node of the block in a slot. */
    private final int[] nodes;
    /** What a block that is in the slot belongs to when there was no node for it. */
    private final int strangers;

    private final boolean[] queued;
    private final long[] storedNanos;
    private final int[] stayOfClass = new int[BlockClass.COUNT];
    private int[] path;
    private long lastConversation;
    /** What was used before may be forgotten. */
    private long rememberedSince = Long.MIN_VALUE;

    ReturnIndexPolicy(int slots, LongSupplier nanoClock) {
        this(slots, nanoClock, Math.max(LEAST_NODES, NODES_A_SLOT * slots));
    }

    /** @param mostNodes blocks remembered, at least two a slot */
    ReturnIndexPolicy(int slots, LongSupplier nanoClock, int mostNodes) {
        super(NAME, slots, false, true);
        this.nanoClock = nanoClock;
        model = new ReturnModel(nowMillis());
        stays = new Stays(mostNodes + BlockClass.COUNT + 1, slots, model);
        seen = new SeenBlocks(mostNodes);
        nodes = new int[slots];
        queued = new boolean[slots];
        storedNanos = new long[slots];
        path = new int[mostNodes / 2];
        Arrays.fill(nodes, NONE);
        strangers = stays.begin(nowMillis(), BlockClass.BODY, Traits.NONE, 1);
        stays.join(strangers, NONE);
    }

    private long nowMillis() {
        return nanoClock.getAsLong() / 1_000_000;
    }

    // ------------------------------------------------------------------------------------------------------- requests

    @Override
    long nanos() {
        return nanoClock.getAsLong();
    }

    /** A lease's end is no return. */
    @Override
    public void leaseEnded(int slot, long nanos) {}

    @Override
    void onRequest(Request request, long nanos) {
        long now = nanos / 1_000_000;
        stays.advance(now);
        rememberedSince = now - REMEMBER_MILLIS;
        long[] blocks = request.blocks();
        int most = Math.min(blocks.length, path.length);
        int known = walk(blocks, most);
        if (request.moment() == Request.Moment.END) {
            if (known == blocks.length && known > 0 && isRunning(known)) {
                outputKnown(request, known);
            }
            return;
        }
        if (known == blocks.length && known > 0 && isRepeated(known, now)) {
            return;
        }
        int continued = continued(known);
        int turn =
                request.turn() != Request.UNKNOWN ? request.turn() : continued == NONE ? 0 : stays.turn(continued) + 1;
        double gapSeconds =
                continued == NONE ? Request.UNKNOWN : Math.max(0, now - stays.beginMillis(continued)) * 1e-3;
        long conversation = continued == NONE ? ++lastConversation : stays.conversation(continued);
        for (int i = 0; i < known; i++) {
            int stay = seen.stay(path[i]);
            if (stay != NONE) {
                stays.used(stay, path[i], now);
            }
        }
        int count = grow(blocks, known, most);
        long traits = Traits.of(
                turn, blocks.length, blocks.length - known, gapSeconds, request.promptTokens(), request.outputTokens());
        beginStays(request, count, conversation, turn, traits, now);
        seen.forget(NODES_CHECKED_A_BLOCK * (count + 1), this);
    }

    /** Fills {@code path} with the nodes of the blocks that are known; their number. */
    private int walk(long[] blocks, int most) {
        int known = 0;
        while (known < most) {
            int node = seen.find(blocks[known], before(known));
            if (node < 0) {
                break;
            }
            path[known++] = node;
        }
        return known;
    }

    private int before(int at) {
        return at == 0 ? SeenBlocks.FIRST : path[at - 1];
    }

    /** Adds nodes for the other blocks, as far as there is room, and none of them is known behind another one; the length of {@code path}. */
    private int grow(long[] blocks, int known, int most) {
        for (int i = known; i < most; i++) {
            int node = seen.find(blocks[i], before(i));
            path[i] = node == NONE ? seen.add(blocks[i], before(i), this) : node;
            if (path[i] < 0) {
                return i;
            }
        }
        return most;
    }

    /** Whether the same prompt, whose chain is in {@code path}, was announced just before: twice at once, or tried again. No return. */
    private boolean isRepeated(int length, long now) {
        int stay = seen.stay(path[length - 1]);
        return stay != NONE && stays.requestBlocks(stay) == length && now - stays.beginMillis(stay) < REPEATED_MILLIS;
    }

    /** A stay of the request that the present one continues, or {@link #NONE}. */
    private int continued(int known) {
        int stay = known == 0 ? NONE : seen.stay(path[known - 1]);
        return stay != NONE
                        && known >= stays.requestBlocks(stay) - CHANGED_AT_END
                        && seen.branches(path[known - 1]) <= NARROW
                ? stay
                : NONE;
    }

    private void beginStays(Request request, int count, long conversation, int turn, long traits, long now) {
        int blocks = request.blocks().length;
        Arrays.fill(stayOfClass, NONE);
        for (int i = 0; i < count; i++) {
            int node = path[i];
            int before = seen.stay(node);
            if (before != NONE && stays.conversation(before) != conversation) {
                seen.addSharer(node);
            }
            int of = BlockClass.of(seen.sharers(node), blocks - 1 - i);
            int stay = stayOfClass[of];
            if (stay == NONE) {
                stay = stays.begin(now, of, traits, (float) request.blockCost());
                stays.describe(stay, blocks, conversation, turn, request.moment() == Request.Moment.BEGIN);
                stayOfClass[of] = stay;
            }
            move(node, stay);
        }
    }

    /** Whether the request whose chain is in {@code path} has been announced and has not ended: then this is its end. */
    private boolean isRunning(int length) {
        int stay = seen.stay(path[length - 1]);
        return stay != NONE && stays.isRunning(stay) && stays.requestBlocks(stay) == length;
    }

    private void outputKnown(Request request, int length) {
        int last = seen.stay(path[length - 1]);
        int before = NONE;
        for (int i = 0; i < length; i++) {
            int stay = seen.stay(path[i]);
            if (stay != before
                    && stay != NONE
                    && stays.conversation(stay) == stays.conversation(last)
                    && stays.beginMillis(stay) == stays.beginMillis(last)) {
                stays.ended(stay, request.promptTokens(), request.outputTokens());
            }
            before = stay;
        }
    }

    private void move(int node, int to) {
        forgotten(node);
        seen.setStay(node, to);
        stays.join(to, node);
        int slot = seen.slot(node);
        if (slot != NONE && queued[slot]) {
            stays.addLeaf(to, slot);
        }
    }

    @Override
    public boolean isOld(int node) {
        int stay = seen.stay(node);
        return stay == NONE || stays.beginMillis(stay) < rememberedSince;
    }

    /** The node belongs to no stay from now on. */
    @Override
    public void forgotten(int node) {
        int stay = seen.stay(node);
        if (stay != NONE) {
            int slot = seen.slot(node);
            if (slot != NONE && queued[slot]) {
                stays.removeLeaf(stay, slot);
            }
            seen.setStay(node, NONE);
            stays.leave(stay, node);
        }
    }

    // ------------------------------------------------------------------------------------------------------- blocks

    @Override
    void onStored(int slot, long block, long parent) {
        int before = parent == block ? SeenBlocks.FIRST : seen.find(parent);
        int node = seen.find(block);
        if (node == NONE) {
            node = seen.add(block, before, this);
        }
        if (node != NONE && seen.slot(node) != NONE) {
            node = NONE; // another slot has a block of that name: this one is a stranger
        }
        if (node != NONE && seen.stay(node) == NONE) {
            beginUnannounced(node, before);
        }
        storedNanos[slot] = lastUse(slot);
        nodes[slot] = node;
        if (node != NONE) {
            seen.setSlot(node, slot);
        }
    }

    /** A block of no request: what was written behind a prompt, its answer, say, and waits for the same next turn. */
    private void beginUnannounced(int node, int parent) {
        int before = parent < 0 ? NONE : seen.stay(parent);
        int stay;
        if (before == NONE) {
            stay = stays.begin(nowMillis(), BlockClass.BODY, Traits.NONE, 1);
            stays.describe(stay, 0, ++lastConversation, 0, false);
        } else {
            stay = stays.begin(nowMillis(), BlockClass.BODY, stays.traits(before), stays.cost(before));
            stays.describe(stay, stays.requestBlocks(before), stays.conversation(before), stays.turn(before), false);
        }
        move(node, stay);
    }

    /** For tests: the turn of the conversation that {@code block} was last used in, or {@link #NONE}. */
    int turn(long block) {
        int node = seen.find(block);
        return node == NONE || seen.stay(node) == NONE ? NONE : stays.turn(seen.stay(node));
    }

    /** For tests: whether every block that is remembered is found by its name, and every stay has as many blocks as belong to it. */
    boolean isConsistent() {
        return seen.unreachable() == 0 && stays.members() == 1 + seen.withStay();
    }

    private int stayOf(int slot) {
        int node = nodes[slot];
        return node == NONE ? strangers : seen.stay(node);
    }

    @Override
    void onUse(int slot, int count) {}

    @Override
    void onGone(int slot, boolean evicted) {
        if (nodes[slot] != NONE) {
            seen.setSlot(nodes[slot], NONE);
            nodes[slot] = NONE;
        }
    }

    @Override
    void enqueue(int slot) {
        queued[slot] = true;
        stays.addLeaf(stayOf(slot), slot);
    }

    @Override
    void dequeue(int slot) {
        queued[slot] = false;
        stays.removeLeaf(stayOf(slot), slot);
    }

    @Override
    int next() {
        long now = nowMillis();
        stays.advance(now);
        int slot = stays.leastLeaf(now);
        while (slot != NONE && usedSince(slot)) {
            restart(slot);
            slot = stays.leastLeaf(now);
        }
        return slot;
    }

    /** Whether the block was used after its stay began, and not by being stored, or for what it was stored for: a peer, say, who waited for it. */
    private boolean usedSince(int slot) {
        long used = lastUse(slot);
        return nodes[slot] != NONE
                && used > storedNanos[slot]
                && used / 1_000_000 >= stays.beginMillis(stayOf(slot)) + REPEATED_MILLIS;
    }

    private void restart(int slot) {
        int node = nodes[slot];
        int old = seen.stay(node);
        long used = lastUse(slot) / 1_000_000;
        stays.used(old, node, used);
        int stay = stays.begin(used, stays.blockClass(old), stays.traits(old), stays.cost(old));
        stays.describe(stay, stays.requestBlocks(old), stays.conversation(old), stays.turn(old), false);
        move(node, stay);
    }

    @Override
    public boolean admits(long block, Candidates candidates) {
        hear();
        int victim = peek(candidates);
        return victim == NONE || score(victim) <= worth(block, nanos());
    }

    @Override
    public double score(int slot) {
        return stays.index(stayOf(slot));
    }

    @Override
    public double worth(long block, long lastUseNanos) {
        int node = seen.find(block);
        int stay = node == NONE ? NONE : seen.stay(node);
        if (stay != NONE) {
            return stays.index(stay);
        }
        long ageMillis = nowMillis() - lastUseNanos / 1_000_000;
        return model.index(BlockClass.BODY, Traits.NONE, ReturnModel.binAt(ageMillis));
    }
}
