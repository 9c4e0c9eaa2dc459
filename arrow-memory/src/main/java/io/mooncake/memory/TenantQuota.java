// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;

/**
 * The most that one tenant may have of a pool.
 *
 * @param dramBytes of memory, headers and what is being filled included; whole blocks of it count
 * @param ssdBytes of the SSD below, whole records
 */
public record TenantQuota(long dramBytes, long ssdBytes) {
    /** No limit but the tiers' own. */
    public static final TenantQuota UNLIMITED = new TenantQuota(Long.MAX_VALUE, Long.MAX_VALUE);

    public TenantQuota {
        if (dramBytes < 0) {
            throw MooncakeException.invalid("quota dramBytes", dramBytes, "at least 0");
        }
        if (ssdBytes < 0) {
            throw MooncakeException.invalid("quota ssdBytes", ssdBytes, "at least 0");
        }
    }
}
