// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * What one tenant has of a pool now.
 *
 * @param tenant its name; empty: blocks that nobody is known to have stored, as those that an earlier life left on the SSD
 * @param dramBytes bytes of memory, what is being filled included
 * @param ssdBytes bytes on the SSD
 * @param quota the most it may have
 * @param refused times something was not stored, in either tier, since the quota was used up and nothing of its own could go
 */
public record TenantUse(String tenant, long dramBytes, long ssdBytes, TenantQuota quota, long refused) {}
