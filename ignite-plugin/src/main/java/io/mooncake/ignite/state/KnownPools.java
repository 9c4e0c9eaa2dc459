// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.config.IdentityText;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** What is remembered of a pool. */
final class KnownPools {
    private static final int DIGITS = 12;

    private KnownPools() {}

    static StateRow.KnownPool row(PoolDefinition pool) {
        String identity = IdentityText.encode(pool.identity());
        return new StateRow.KnownPool(pool.name(), digest(identity), identity, pool.vocabulary());
    }

    private static String digest(String identity) {
        try {
            byte[] sha = MessageDigest.getInstance("SHA-256").digest(identity.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sha).substring(0, DIGITS);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
