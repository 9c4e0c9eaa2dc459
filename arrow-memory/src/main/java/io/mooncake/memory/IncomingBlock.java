// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * Private memory for a block that is being fetched from a peer. Invisible to everybody until {@link #commit(int[])}.
 *
 * <pre>{@code
 * try (IncomingBlock in = pool.beginIncoming(key, parent, depth, tokens, tenant)) {   // null: no memory
 *     read(in.address(), in.length());
 *     in.commit(layerChecksums);
 *     match.extendLocally();          // the block cannot be evicted before close
 * }
 * }</pre>
 *
 * <p>Ownership: the caller owes one {@link #close()}; without a commit before it, the block is abandoned. Close only when no transfer can
 * write to the memory any more. Threading: one thread at a time.
 */
public interface IncomingBlock extends AutoCloseable {
    /** What the block is to be. */
    BlockKey key();

    /** Address of the payload to read into; borrowed until commit or close. */
    long address();

    /** Payload bytes. */
    int length();

    /** Bytes from the start of the region to the payload. */
    long offset();

    /** Outcome of a commit. */
    enum Outcome {
        /** Sealed, indexed and announced. */
        STORED,
        /** The pool had the key already; its block stays and this one is dropped. */
        KEPT_EXISTING,
        /** Parent and tokens do not give the key: bytes of another block. Nothing is stored. */
        WRONG_IDENTITY,
        /** The payload does not match {@code layerChecksums}. Nothing is stored. */
        WRONG_CHECKSUM,
        /** The index has no node left. Nothing is stored. */
        INDEX_FULL
    }

    /**
     * Checks that parent and tokens give the key, that the payload gives the checksums, and then seals, indexes and announces the block.
     * Whether stored or kept, a block of that key stays leased to this object until close.
     *
     * @param layerChecksums CRC32C a layer, from the holder's lease reply
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE after commit or close
     */
    Outcome commit(int[] layerChecksums);

    /**
     * The same for a payload that comes from nobody else, such as the caller's own: its checksums are made here, none are compared.
     *
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE after commit, seal or close
     */
    Outcome seal();

    /** Gives the memory back without storing; the same as close without commit. */
    void abandon();

    @Override
    void close();
}
