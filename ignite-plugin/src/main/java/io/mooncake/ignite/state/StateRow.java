// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.config.IdentityText;
import io.mooncake.memory.BlockKey;
import java.time.Duration;
import java.util.Optional;

/** Something that the cluster remembers. Each row has one place, its {@link #key}; a newer row of the same key replaces it. */
public sealed interface StateRow {
    /** Where the row lies: the kind and what tells its rows apart. */
    String key();

    /**
     * A prefix that must not leave memory.
     *
     * @param pool name of the pool
     * @param prefix chain digest of the last block pinned; the blocks before it are meant, too
     * @param left for how long from now on; empty: until it is removed. What passes while nobody counts does not count
     */
    record Pin(String pool, BlockKey prefix, Optional<Duration> left) implements StateRow {
        public Pin {
            if (left.isPresent() && (left.get().isNegative() || left.get().isZero())) {
                throw MooncakeException.invalid("pin time", left.get(), "more than zero");
            }
        }

        /** The key of that pin. */
        public static String key(String pool, BlockKey prefix) {
            return "pin:" + pool + ":" + prefix.hex();
        }

        @Override
        public String key() {
            return key(pool, prefix);
        }
    }

    /**
     * How many nodes should hold a prefix.
     *
     * @param pool name of the pool
     * @param prefix chain digest of the last block meant
     * @param copies nodes, at least 1
     * @param tenant name of whose blocks they are
     */
    record ReplicaIntent(String pool, BlockKey prefix, int copies, String tenant) implements StateRow {
        public ReplicaIntent {
            if (copies < 1) {
                throw MooncakeException.invalid("copies", copies, "at least 1");
            }
        }

        /** The key of that intent. */
        public static String key(String pool, BlockKey prefix) {
            return "replica:" + pool + ":" + prefix.hex();
        }

        @Override
        public String key() {
            return key(pool, prefix);
        }
    }

    /**
     * What the blocks of a tenant may take on each node.
     *
     * @param tenant name of the tenant
     * @param dramBytes in memory, at least 0
     * @param ssdBytes on the SSD, at least 0
     */
    record Quota(String tenant, long dramBytes, long ssdBytes) implements StateRow {
        public Quota {
            if (dramBytes < 0 || ssdBytes < 0) {
                throw MooncakeException.invalid("quota", Math.min(dramBytes, ssdBytes), "at least 0 bytes");
            }
        }

        /** The key of that quota. */
        public static String key(String tenant) {
            return "quota:" + tenant;
        }

        @Override
        public String key() {
            return key(tenant);
        }
    }

    /**
     * A pool that some node has or had.
     *
     * @param pool its name
     * @param digest the first 12 hexadecimal digits of its identity's digest: pools of one name differ by it
     * @param identity its identity as canonical text: digests, layout, block size
     * @param vocabulary token ids are 0..vocabulary-1
     */
    record KnownPool(String pool, String digest, String identity, int vocabulary) implements StateRow {
        /** The key of the pool of that name with that identity, its canonical text. */
        public static String key(String pool, String identity) {
            return keyOf(pool, IdentityText.digest(identity));
        }

        private static String keyOf(String pool, String digest) {
            return "pool:" + pool + ":" + digest;
        }

        @Override
        public String key() {
            return keyOf(pool, digest);
        }
    }
}
