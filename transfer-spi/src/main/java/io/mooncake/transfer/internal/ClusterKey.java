// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * HMAC-SHA256 keys. One root is derived from the cluster's secret, and from it one key for each purpose, so that a MAC made for one frame
 * means nothing in another. Never printed: has no accessors.
 *
 * <p>Threading: immutable; each {@link #mac} is for one thread.
 */
public final class ClusterKey {
    /** Bytes of a MAC. */
    public static final int MAC_BYTES = 32;

    private static final String ALGORITHM = "HmacSHA256";
    private final SecretKeySpec key;

    private ClusterKey(byte[] key) {
        this.key = new SecretKeySpec(key, ALGORITHM);
    }

    /** The root key of {@code secret}. */
    public static ClusterKey ofSecret(String secret) {
        return new ClusterKey("mooncake cluster secret 1".getBytes(StandardCharsets.US_ASCII))
                .derive(secret.getBytes(StandardCharsets.UTF_8));
    }

    /** A key of these random bytes. */
    public static ClusterKey ofRandom(byte[] random) {
        return new ClusterKey(random);
    }

    /** The key for {@code purpose}. */
    public ClusterKey derive(String purpose) {
        return derive(purpose.getBytes(StandardCharsets.US_ASCII));
    }

    private ClusterKey derive(byte[] data) {
        return new ClusterKey(mac().doFinal(data));
    }

    /** A new MAC computation under this key. */
    public Mac mac() {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            return mac;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(ALGORITHM + " is missing from this Java", e);
        }
    }

    /** As {@link #mac}, without garbage. */
    Hmac hmac() {
        return new Hmac(key.getEncoded());
    }

    @Override
    public String toString() {
        return "ClusterKey[hidden]";
    }
}
