// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * Decides which block of one tier goes next, and whether a new one is worth the place of another.
 *
 * <p>Blocks are in slots 0..n-1 and have 64-bit names that outlive their slots: the first eight bytes of the chain key, say. Two blocks of
 * one name would be taken for one by the policy's statistics; no block is ever served by this name.
 *
 * <p>Chains stay whole: a block that another cached one follows (an inner block) never goes. While every leaf is leased, none does.
 *
 * <p>How a pool calls it:
 *
 * <ol>
 *   <li>a look-up: {@link #touch} for each block that it leased, then {@link #announce} with what is known of the request;
 *   <li>a block is to be stored and no slot is free: if {@link #admits} its name, {@link #evict} until there is a slot; a block that is not
 *       admitted is not stored, nor is any block behind it;
 *   <li>it is sealed and indexed: {@link #stored}; its parent is found to be no leaf any more when its turn comes;
 *   <li>a lease of a look-up ends: {@link #leaseEnded} for each block; the last one of a slot: {@link #released};
 *   <li>a removal leaves its parent without followers: {@link #leaf};
 *   <li>a block goes by other ways than {@link #evict}: {@link #removed};
 *   <li>between tiers: what {@link #evict} gives is demoted, and a block that was hit below is promoted if the policy above {@link #admits}
 *       it. A tier below that has to choose what leaves it asks for {@link #worth}; see there for what the number means.
 * </ol>
 *
 * <p>Threading: {@link #touch}, {@link #leaseEnded}, {@link #released}, {@link #announce}, {@link #learns} and {@link #lastUse} by any thread, without a lock; all else by one thread
 * at a time, under the lock under which the pool publishes and evicts. Nothing is allocated for a block. Memory is bounded by the number of
 * slots.
 *
 * <p>Errors: slots out of range are IndexOutOfBoundsException; nothing else is thrown but what {@link Candidates} throws.
 */
public interface EvictionPolicy {
    /** No slot. */
    int NONE = -1;

    /** Its name in configuration and benchmarks. */
    String name();

    // ------------------------------------------------------------------------------------------------------- any
    // thread

    /** Notes a use of the block in {@code slot} at {@code nanos} of the pool's monotonic clock. */
    void touch(int slot, long nanos);

    /** Notes that a use which {@link #touch} has noted lasted until {@code nanos}; the block is still leased. No further use. */
    void leaseEnded(int slot, long nanos);

    /** The last use that was noted. */
    long lastUse(int slot);

    /**
     * The last of what {@link Candidates#references} counts on {@code slot} has ended; said by whoever ended it, a lease or a pin. What is not
     * counted there, a pin that ends by time or a move, ends without a word: its block is tried again by each {@link #evict}.
     */
    void released(int slot);

    /** Whether it learns from {@link #announce}: who must compute something for it asks before. */
    boolean learns();

    /**
     * Tells what is known about a request; policies that don't learn from it ignore it. When too many wait to be heard, some are lost.
     *
     * @return whether so many wait that {@link #hear} is due: whoever evicts next would have to hear all of them
     */
    boolean announce(Request request);

    // ------------------------------------------------------------------------------------------------------- change
    // lock

    /** Hears what other threads noted; all calls below that need it do so by themselves. */
    void hear();

    /**
     * Whether a block named {@code block} is worth the place of the one that would go; true where none can go. Takes nothing from {@code
     * candidates}.
     */
    boolean admits(long block, Candidates candidates);

    /**
     * A block was stored; its time of storing is to be noted by {@link #touch} before.
     *
     * @param slot where
     * @param block its name
     * @param parent name of the block before it; {@code block} itself when it is the first of its chain
     * @param leaf whether no cached block follows it
     */
    void stored(int slot, long block, long parent, boolean leaf);

    /** The sealed block in {@code slot} has become a leaf. */
    void leaf(int slot);

    /**
     * Chooses the block that goes, by {@link Candidates#startEviction}, and forgets that it is in the slot.
     *
     * @return the slot, or {@link #NONE} when every leaf is leased
     */
    int evict(Candidates candidates);

    /** The block in {@code slot} has gone in another way. */
    void removed(int slot);

    /**
     * What keeping the block in {@code slot} is worth: more is better. {@code return-index}: expected returns for each second that the block
     * takes a place, times its cost. {@code lru}: the time of its last use, in nanoseconds. Others: uses, or a rank, as their descriptions
     * say. Numbers of one policy compare with each other, now; not with those of another policy or of another moment.
     */
    double score(int slot);

    /**
     * What a place for {@code block} is worth, in the unit of {@link #score}, whether the block is stored here, in a tier below, or not at all: so
     * one policy orders the blocks of all tiers. The policy remembers blocks for a while after they went; of one that it has forgotten it knows
     * but what {@code lastUseNanos} says, and policies that count uses say 0. Equal blocks are the caller's to order, by last use best.
     *
     * <p>Cost: a look-up of the name, and sometimes an index to compute; nothing is heard, moved or allocated by it.
     *
     * @param lastUseNanos when the block was last used, of the pool's monotonic clock, as far as the caller knows; now for a new one
     */
    double worth(long block, long lastUseNanos);
}
