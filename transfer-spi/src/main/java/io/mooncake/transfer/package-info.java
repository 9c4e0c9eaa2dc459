// SPDX-License-Identifier: Apache-2.0
/**
 * The transfer engine: registered regions, one-sided reads and writes, leases, and the control plane. Memory is addresses and lengths
 * here; what lies in it is somebody else's business. Runs without Ignite.
 */
@NullMarked
package io.mooncake.transfer;

import org.jspecify.annotations.NullMarked;
