// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.RequestHints;
import io.mooncake.memory.Tenant;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/** A pool that notes what its users say of their requests, and passes it on. */
final class WatchedPool implements KvPool {
    final List<RequestHints> hints = new ArrayList<>();
    final List<Integer> answers = new ArrayList<>();
    private final KvPool pool;

    WatchedPool(KvPool pool) {
        this.pool = pool;
    }

    @Override
    public String name() {
        return pool.name();
    }

    @Override
    public KvIdentity identity() {
        return pool.identity();
    }

    @Override
    public KvPool forTenant(Tenant tenant) {
        return new WatchedPool(pool.forTenant(tenant));
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline) {
        return acquire(tokens, deadline, RequestHints.NONE);
    }

    @Override
    public PrefixLease acquire(int[] tokens, Deadline deadline, RequestHints known) {
        hints.add(known);
        return new WatchedLease(pool.acquire(tokens, deadline, known));
    }

    @Override
    public BlockWriter extend(PrefixLease prefix, int[] tokens) {
        return pool.extend(prefix instanceof WatchedLease watched ? watched.lease : prefix, tokens);
    }

    @Override
    public PrefixLease withoutLookup() {
        return pool.withoutLookup();
    }

    private final class WatchedLease implements PrefixLease {
        private final PrefixLease lease;

        WatchedLease(PrefixLease lease) {
            this.lease = lease;
        }

        @Override
        public int matchedTokens() {
            return lease.matchedTokens();
        }

        @Override
        public int localTokens() {
            return lease.localTokens();
        }

        @Override
        public int remoteTokens() {
            return lease.remoteTokens();
        }

        @Override
        public MissReason missReason() {
            return lease.missReason();
        }

        @Override
        public int blockCount() {
            return lease.blockCount();
        }

        @Override
        public ArrowBuf block(int index) {
            return lease.block(index);
        }

        @Override
        public int blockTokens(int index) {
            return lease.blockTokens(index);
        }

        @Override
        public void answered(int outputTokens) {
            answers.add(outputTokens);
            lease.answered(outputTokens);
        }

        @Override
        public void close() {
            lease.close();
        }
    }
}
