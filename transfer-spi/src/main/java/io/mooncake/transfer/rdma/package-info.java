// SPDX-License-Identifier: Apache-2.0
/**
 * RDMA verbs: one-sided READ and WRITE over reliable queue pairs, under accesses that the owner grants and confirms over the control plane.
 * Data plane while bytes move: no locks shared between batches, no logging. Touches the transfer API, its internals and the native verbs.
 */
@NullMarked
package io.mooncake.transfer.rdma;

import org.jspecify.annotations.NullMarked;
