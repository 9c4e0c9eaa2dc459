// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import org.apache.arrow.memory.ArrowBuf;

/**
 * Stores the full blocks that follow a cached prefix. Blocks are filled in order and become visible all at once by {@link #publish()};
 * whatever was not published when the writer closes is abandoned and its memory returns to the pool.
 *
 * <pre>{@code
 * try (BlockWriter w = pool.extend(hit, tokens)) {
 *     while (w.hasNext()) {
 *         fill(w.next());
 *     }
 *     w.publish();
 * }
 * }</pre>
 *
 * <p>Threading: one thread.
 */
public interface BlockWriter extends AutoCloseable {
    /** Index, in the prompt, of the block that {@link #next()} returns: its first token is {@code blockIndex() * blockTokens}. */
    int blockIndex();

    /**
     * Whether another full block follows and memory for it could be had: the pool's policy says which block gives way, a leased one never. False for
     * good once the policy has found a block not worth the place of another: nothing behind it is stored either. For a block that is in the pool
     * already no other gives way, and it is never refused.
     */
    boolean hasNext();

    /** Why {@link #hasNext()} was false when it was asked last. */
    default WriterStop stop() {
        return WriterStop.NONE;
    }

    /**
     * Payload of the next block, zeroed or not, {@code payloadBytes} long, to be filled whole before the next call; not to be read. Borrowed
     * until publish or close: an access after that throws. What is written for a block that is in the pool already is dropped: all such blocks
     * may share one payload.
     *
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE when {@link #hasNext()} is false
     */
    ArrowBuf next();

    /**
     * Seals (checksum a layer, watermark, generation), indexes and announces every block handed out since the last publish. May be called
     * several times, for layer-complete groups of blocks. Published blocks are found by others at once, and stay until close at least.
     *
     * @return blocks published by this call
     */
    int publish();

    /** Abandons what was not published. Idempotent. */
    @Override
    void close();
}
