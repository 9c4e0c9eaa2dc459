// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.util.UUID;

/** Hears of rails that fail. Called with locks held: does little, and calls nothing back. */
@FunctionalInterface
public interface RailListener {
    /** Nobody. */
    RailListener NONE = (peer, rail) -> {};

    /** What was measured of that rail to that life of a peer holds no more; its number is that of the path matrix. */
    void failed(UUID peer, int rail);
}
