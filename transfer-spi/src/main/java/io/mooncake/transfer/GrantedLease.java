// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.util.UUID;

/**
 * A lease that this engine granted and that has not ended.
 *
 * @param id unique in this engine's life
 * @param holder incarnation of the reader
 * @param elements blocks that it holds in place
 * @param bytes of them
 * @param leftNanos nanoseconds that the reader may still use it, by this engine's clock; 0 where only the margin is left
 */
public record GrantedLease(long id, UUID holder, int elements, long bytes, long leftNanos) {}
