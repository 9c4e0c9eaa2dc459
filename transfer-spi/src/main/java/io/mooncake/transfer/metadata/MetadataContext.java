// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import io.mooncake.base.MooncakeException;
import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What a store gets from its opener besides the server's address.
 *
 * @param cluster stores of different clusters on one service do not see each other; 1..64 characters {@code [A-Za-z0-9._-]}
 * @param owner names the writer: random, another for each life of the node
 * @param leaseTime how long records outlive a dead process, 2..60 s; a service may round up to its unit
 * @param nanoClock monotonic clock in nanoseconds
 * @param random spreads retries; used by the store's own thread alone
 * @param options the provider's own options by name; may hold credentials, never printed
 */
public record MetadataContext(
        String cluster,
        UUID owner,
        Duration leaseTime,
        LongSupplier nanoClock,
        RandomGenerator random,
        Map<String, String> options) {
    /** Lease time when none is given. */
    public static final Duration DEFAULT_LEASE_TIME = Duration.ofSeconds(10);

    public MetadataContext {
        if (!cluster.matches("[A-Za-z0-9._-]{1,64}")) {
            throw MooncakeException.invalid("cluster", cluster, "1..64 characters of A-Z a-z 0-9 . _ -");
        }
        if (leaseTime.compareTo(Duration.ofSeconds(2)) < 0 || leaseTime.compareTo(Duration.ofSeconds(60)) > 0) {
            throw MooncakeException.invalid("leaseTime", leaseTime, "2..60 s");
        }
        options = Map.copyOf(options);
    }

    /** A new owner on the system's clock, with the default lease time and no options. */
    public static MetadataContext of(String cluster) {
        return new MetadataContext(
                cluster, UUID.randomUUID(), DEFAULT_LEASE_TIME, System::nanoTime, new SplittableRandom(), Map.of());
    }

    /** The same with another lease time. */
    public MetadataContext withLeaseTime(Duration time) {
        return new MetadataContext(cluster, owner, time, nanoClock, random, options);
    }

    /** The same with these options of the provider. */
    public MetadataContext withOptions(Map<String, String> values) {
        return new MetadataContext(cluster, owner, leaseTime, nanoClock, random, values);
    }

    @Override
    public String toString() {
        return "MetadataContext[" + cluster + ", owner " + owner + ", leaseTime " + leaseTime + ", options "
                + options.keySet() + "]";
    }
}
