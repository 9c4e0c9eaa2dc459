// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * HMAC-SHA256 (RFC 2104) for the data plane: the JDK's own makes an array for each MAC, this one makes nothing. For keys of at most one
 * block. One thread.
 */
final class Hmac {
    private static final int BLOCK_BYTES = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;

    private final MessageDigest digest;
    private final byte[] inner = new byte[BLOCK_BYTES];
    private final byte[] outer = new byte[BLOCK_BYTES];

    Hmac(byte[] key) {
        if (key.length > BLOCK_BYTES) {
            throw new IllegalArgumentException("key: " + key.length + " bytes (expected: 0.." + BLOCK_BYTES + ")");
        }
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is missing from this Java", e);
        }
        for (int i = 0; i < BLOCK_BYTES; i++) {
            byte k = i < key.length ? key[i] : 0;
            inner[i] = (byte) (k ^ INNER);
            outer[i] = (byte) (k ^ OUTER);
        }
    }

    /** Writes the MAC of {@code data} into {@code target}, which has room for {@link ClusterKey#MAC_BYTES}. */
    void compute(byte[] data, byte[] target) {
        try {
            digest.update(inner);
            digest.update(data);
            digest.digest(target, 0, ClusterKey.MAC_BYTES);
            digest.update(outer);
            digest.update(target, 0, ClusterKey.MAC_BYTES);
            digest.digest(target, 0, ClusterKey.MAC_BYTES);
        } catch (DigestException e) {
            throw new IllegalStateException("MAC buffer: " + target.length, e);
        }
    }
}
