// SPDX-License-Identifier: Apache-2.0
/**
 * What the cluster must remember: pins, replica intents, quotas and pool definitions, in one small Ignite cache. Also the rule for data
 * regions of ours, so that none of them can fill up and halt a node. Control plane; Ignite's public API only.
 */
@NullMarked
package io.mooncake.ignite.state;

import org.jspecify.annotations.NullMarked;
