// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.MooncakeException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Tenants by a list: which login, and which API key, is whose. Everybody else is refused. A login counts before a key, because Ignite has
 * authenticated it.
 *
 * <pre>{@code
 * <property name="tenantResolver"><bean class="io.mooncake.ignite.KnownTenants">
 *   <property name="logins"><map><entry key="alice" value="acme"/></map></property>
 *   <property name="apiKeys"><map><entry key="${acme.key}" value="acme"/></map></property>
 * </bean></property>
 * }</pre>
 *
 * <p>Threading: set before the node starts, then safe for all threads.
 */
public final class KnownTenants implements TenantResolver {
    private static final int MIN_KEY = 16;

    private final Map<String, String> logins = new LinkedHashMap<>();
    /** Digest of each key to its tenant: the keys themselves are not kept. */
    private final Map<String, String> apiKeys = new LinkedHashMap<>();

    /**
     * The tenant of each login; logins that are not named are refused.
     *
     * @throws MooncakeException INVALID_ARGUMENT for a tenant's name that is empty or longer than 128 characters
     */
    public KnownTenants setLogins(Map<String, String> logins) {
        logins.values().forEach(KnownTenants::requireName);
        this.logins.clear();
        this.logins.putAll(logins);
        return this;
    }

    /**
     * The tenant of each API key.
     *
     * @throws MooncakeException INVALID_ARGUMENT for a key below 16 characters, which could be guessed, and for a tenant's name as above
     */
    public KnownTenants setApiKeys(Map<String, String> apiKeys) {
        apiKeys.values().forEach(KnownTenants::requireName);
        this.apiKeys.clear();
        apiKeys.forEach((key, tenant) -> {
            if (key.length() < MIN_KEY) {
                throw MooncakeException.invalid(
                        "apiKeys", "a key of " + key.length() + " characters", "at least " + MIN_KEY + " characters");
            }
            this.apiKeys.put(digest(key), tenant);
        });
        return this;
    }

    @Override
    public @Nullable String resolve(Caller caller) {
        String login = caller.login();
        if (login != null && logins.containsKey(login)) {
            return logins.get(login);
        }
        String key = caller.apiKey();
        // Looked up by digest, so that the time says nothing of a key that is nearly right.
        return key == null ? null : apiKeys.get(digest(key));
    }

    private static void requireName(String tenant) {
        if (tenant.isBlank() || tenant.length() > 128) {
            throw MooncakeException.invalid("tenant name", tenant, "1..128 characters");
        }
    }

    private static String digest(String key) {
        try {
            byte[] sha = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(sha);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
