// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.BlockKey;
import java.util.List;

/**
 * What a check of a pool's blocks in memory found.
 *
 * @param pool name of the pool
 * @param checked blocks whose every layer was compared with its checksum
 * @param bytes of them
 * @param dropped damaged blocks that were taken away; nobody is given them any more
 * @param kept damaged blocks that a hard pin holds, and those that follow: unpin and check again
 */
public record ScrubReport(String pool, long checked, long bytes, List<BlockKey> dropped, List<BlockKey> kept) {
    public ScrubReport {
        dropped = List.copyOf(dropped);
        kept = List.copyOf(kept);
    }
}
