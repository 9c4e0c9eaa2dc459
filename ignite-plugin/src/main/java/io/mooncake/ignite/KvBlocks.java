// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.BlockKey;
import java.time.Duration;
import java.util.List;

/**
 * Blocks of one pool and tenant by their keys, anywhere in the cluster. Inference goes by prompts ({@link io.mooncake.memory.KvPool}); this is for those who have
 * keys: a store above the pool, tools, benchmarks.
 *
 * <p>Every call takes a batch and gives one result a key, in order; one key's failure is no other's. Arguments that can't be right are refused for the whole batch, before
 * anything changes: INVALID_ARGUMENT naming the value. What a call was for may have happened for keys whose result says otherwise only where that is said.
 *
 * <p>Threading: safe for all threads; each call waits at most for its timeout, 1 ms to an hour. Source of the operations: Mooncake's store.
 */
public interface KvBlocks {
    /** Most keys of a call. */
    int MAX_KEYS = 4096;

    /** The parent of the first block of every chain of this tenant. */
    BlockKey root();

    /**
     * The key of the block of {@code tokens} behind {@code parent}.
     *
     * @param tokens as many as the pool's blocks have
     */
    BlockKey key(BlockKey parent, int[] tokens);

    /**
     * Stores blocks on this node, and copies on others. While there is no room it waits for some: leases end, blocks become evictable.
     *
     * @param blocks at most {@value #MAX_KEYS}, parents before children
     * @param options how many copies, how long
     * @return STORED, or EXISTING where this node has the key already (its block stays), with the copies that are known to be there now; NO_ROOM; EXPIRED; REFUSED where
     *     another block has the key's place in its chain
     */
    List<BlockResult> put(List<BlockPut> blocks, PutOptions options);

    /**
     * Takes blocks for reading, from this node's memory or SSD, else from another node: read one-sided, verified, and kept here.
     *
     * @param keys at most {@value #MAX_KEYS}
     * @param timeout at least 1 ms
     * @return to be closed; FOUND with its block; ABSENT where nobody has it; EXPIRED; NO_ROOM where all of this node's blocks are in use; REFUSED where a holder does not give it
     */
    BlockSet get(List<BlockKey> keys, Duration timeout);

    /** Whether blocks are anywhere: FOUND with the number of copies, or ABSENT. Asks nobody, and is no use of the blocks. */
    List<BlockResult> exists(List<BlockKey> keys);

    /**
     * Pins blocks where they are, on this node if it has them, else on one that does: they are not evicted until {@link #unpin}, nor is anything before them in their chains.
     * The cluster remembers it, a row a block: the node pins again after a restart what its SSD has kept, and when it is lost another holder pins. Where the cluster takes no rows
     * (inactive, read-only, {@code stateRowBudget} used up) the pin ends with its node, and the detail says so.
     *
     * @return PINNED or ABSENT; REFUSED where no holder answers
     */
    List<BlockResult> pinHard(List<BlockKey> keys, Duration timeout);

    /**
     * The same until {@code time} from now, by the clock of the node that has the block.
     *
     * @param time above 0, at most 365 days
     */
    List<BlockResult> pinSoft(List<BlockKey> keys, Duration time, Duration timeout);

    /**
     * Takes all pins off, hard and soft, on every node that has the blocks: DONE, ABSENT, or REFUSED where a holder does not answer, or the cluster can't forget the pin just now and
     * a holder would pin again.
     */
    List<BlockResult> unpin(List<BlockKey> keys, Duration timeout);

    /**
     * Asks for {@code copies} of blocks and of all before them in their chains, on as many nodes as that is. The cluster remembers it: copies that go with a node are made again some seconds later.
     * Where all nodes are full, copies may be evicted like any other block. Of chains only what lies in a holder's memory is copied.
     *
     * @param copies 1..nodes that store the pool; 1 takes the wish back, no copy goes for that
     * @return DONE once the cluster remembers it; REFUSED where it does not (inactive, read-only, {@code stateRowBudget} used up), with the reason
     */
    List<BlockResult> keep(List<BlockKey> keys, int copies, Duration timeout);

    /**
     * Removes blocks, and what follows them in their chains, on every node that has them.
     *
     * @return DONE with the copies that went; ABSENT; REFUSED where a hard pin holds one, or a holder does not answer: other copies may be gone then
     */
    List<BlockResult> remove(List<BlockKey> keys, Duration timeout);
}
