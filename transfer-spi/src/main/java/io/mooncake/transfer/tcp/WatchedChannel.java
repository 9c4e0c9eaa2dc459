// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.internal.Quietly;

/** A channel that the watchdog can cut. */
class WatchedChannel extends Watchdog.Watched {
    final PeerChannel channel;

    WatchedChannel(Watchdog watchdog, PeerChannel channel) {
        super(watchdog);
        this.channel = channel;
    }

    @Override
    final void cut() {
        Quietly.close(channel);
    }
}
