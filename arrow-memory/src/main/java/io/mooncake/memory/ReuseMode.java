// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * Which KV may be shared. It is a part of the identity, so that KV of the two modes never meets.
 */
public enum ReuseMode {
    /**
     * Only KV of prefill in fixed chunks of one block, aligned to absolute position; whole blocks only, and the last block of a prompt is
     * always computed. Logits are bit-identical with and without reuse.
     */
    EXACT,
    /** Parts of blocks are reused and KV made during decode is stored. Logits may differ by rounding. */
    FAST
}
