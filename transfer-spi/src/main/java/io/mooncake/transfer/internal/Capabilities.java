// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.RemoteHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.UUID;

/**
 * Issues and verifies the MACs of handles. The key is random for each life of the engine and never leaves it, so nothing that an earlier
 * life granted is worth anything.
 *
 * <pre>
 *  0  region        i32      4  rights i32 (1 = write)
 *  8  generation    i64     16  offset i64
 * 24  length        i64     32  expiry on the issuer's monotonic clock, i64
 * 40  holder's incarnation, 2 x i64                         (little-endian, 56 bytes)
 * </pre>
 */
public final class Capabilities {
    /** Bytes of a capability. */
    public static final int BYTES = ClusterKey.MAC_BYTES;

    private static final int INPUT_BYTES = 56;
    private final ClusterKey key;

    public Capabilities(SecureRandom random) {
        byte[] bytes = new byte[ClusterKey.MAC_BYTES];
        random.nextBytes(bytes);
        this.key = ClusterKey.ofRandom(bytes);
    }

    /** Issues a handle for {@code holder}. */
    public RemoteHandle issue(
            UUID holder, int region, long generation, long offset, long length, boolean writable, long expiresAtNanos) {
        byte[] capability = new byte[BYTES];
        new Verifier().compute(holder, region, writable, generation, offset, length, expiresAtNanos, capability);
        return new RemoteHandle(region, generation, offset, length, writable, expiresAtNanos, capability);
    }

    /** A verifier for one thread. */
    public Verifier verifier() {
        return new Verifier();
    }

    /** Verifies without allocating buffers. One thread. */
    public final class Verifier {
        private final Hmac mac = key.hmac();
        private final byte[] input = new byte[INPUT_BYTES];
        private final ByteBuffer fields = ByteBuffer.wrap(input).order(ByteOrder.LITTLE_ENDIAN);
        private final byte[] expected = new byte[BYTES];

        private Verifier() {}

        /** Whether the capability of {@code claim} is what was issued to {@code holder} over exactly its values; constant-time. */
        public boolean verify(UUID holder, Claim claim) {
            compute(
                    holder,
                    claim.region,
                    claim.writable,
                    claim.generation,
                    claim.handleOffset,
                    claim.handleLength,
                    claim.expiresAtNanos,
                    expected);
            return MessageDigest.isEqual(expected, claim.capability);
        }

        private void compute(
                UUID holder,
                int region,
                boolean writable,
                long generation,
                long offset,
                long length,
                long expiresAtNanos,
                byte[] target) {
            fields.putInt(0, region).putInt(4, writable ? 1 : 0);
            fields.putLong(8, generation)
                    .putLong(16, offset)
                    .putLong(24, length)
                    .putLong(32, expiresAtNanos);
            fields.putLong(40, holder.getMostSignificantBits()).putLong(48, holder.getLeastSignificantBits());
            mac.compute(input, target);
        }
    }
}
