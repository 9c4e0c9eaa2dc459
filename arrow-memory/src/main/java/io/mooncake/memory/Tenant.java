// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/**
 * Whose blocks they are. The salt is a secret of the server: it keys the HMAC at the root of every chain, so that no tenant can name
 * another tenant's block. Two of one name and salt are equal: what is remembered of a tenant is found again by each call that names it.
 */
public final class Tenant {
    /** The tenant of callers that name none. Its salt is empty: keys depend on identity and tokens alone. */
    public static final Tenant DEFAULT = new Tenant("default", new byte[0]);

    private final String name;
    private final byte[] salt;

    /**
     * @param name 1..128 characters, shown to operators
     * @param salt secret, 0..256 bytes, copied
     */
    public Tenant(String name, byte[] salt) {
        if (name.isEmpty() || name.length() > 128) {
            throw MooncakeException.invalid("tenant name", name, "1..128 characters");
        }
        if (salt.length > 256) {
            throw MooncakeException.invalid("tenant salt bytes", salt.length, "0..256");
        }
        this.name = name;
        this.salt = salt.clone();
    }

    /** Shown to operators. */
    public String name() {
        return name;
    }

    /** A copy of the secret. */
    public byte[] salt() {
        return salt.clone();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Tenant tenant && name.equals(tenant.name) && MessageDigest.isEqual(salt, tenant.salt);
    }

    @Override
    public int hashCode() {
        // Of the name alone: a secret has no business in a hash.
        return name.hashCode();
    }

    @Override
    public String toString() {
        return "Tenant[" + name + "]";
    }
}
