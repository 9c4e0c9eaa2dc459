// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A pool of one process over a part of a {@link MemoryRegion}. Signatures first; behaviour follows in the next commit. */
public final class LocalKvPool implements KvPool, AutoCloseable {
    private final String name;
    private final KvIdentity identity;

    private LocalKvPool(String name, KvIdentity identity) {
        this.name = name;
        this.identity = identity;
    }

    public static LocalKvPool create(
            String name, KvIdentity identity, int vocabulary, MemoryRegion region, long offset, long bytes) {
        return new LocalKvPool(name, identity);
    }

    /** Bytes one block takes in a region, header included; the least a pool needs. */
    public static long blockStrideBytes(KvIdentity identity) {
        throw unfinished();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public KvIdentity identity() {
        return identity;
    }

    /** Token ids are below it. */
    public int vocabulary() {
        throw unfinished();
    }

    @Override
    public KvPool forTenant(Tenant tenant) {
        throw unfinished();
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        throw unfinished();
    }

    public PrefixLease acquire(Tenant tenant, int[] tokens) {
        throw unfinished();
    }

    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens) {
        throw unfinished();
    }

    public BlockWriter extend(Tenant tenant, PrefixLease prefix, int[] tokens) {
        throw unfinished();
    }

    @Override
    public PrefixLease withoutLookup() {
        throw unfinished();
    }

    public LocalMatch match(Tenant tenant, int[] tokens) {
        throw unfinished();
    }

    public BlockKey root(Tenant tenant) {
        throw unfinished();
    }

    public List<BlockKey> chain(Tenant tenant, int[] tokens) {
        throw unfinished();
    }

    public boolean contains(BlockKey key) {
        throw unfinished();
    }

    public @Nullable PinnedBlock pin(BlockKey key) {
        throw unfinished();
    }

    public boolean verify(PinnedBlock block) {
        throw unfinished();
    }

    public boolean isCurrent(long offset, long length, long generation) {
        throw unfinished();
    }

    public @Nullable IncomingBlock beginIncoming(
            BlockKey key, BlockKey parent, int depth, int[] tokens, Tenant tenant) {
        throw unfinished();
    }

    public void addListener(BlockListener listener) {
        throw unfinished();
    }

    public void removeListener(BlockListener listener) {
        throw unfinished();
    }

    public void forEachBlock(Consumer<StoredBlock> consumer) {
        throw unfinished();
    }

    public void forEachView(Consumer<BlockView> consumer) {
        throw unfinished();
    }

    public PoolStatistics stats() {
        throw unfinished();
    }

    @Override
    public void close() {}

    private static MooncakeException unfinished() {
        return new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "LocalKvPool");
    }
}
