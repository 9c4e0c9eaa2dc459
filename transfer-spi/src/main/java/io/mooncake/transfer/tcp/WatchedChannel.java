// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.internal.Quietly;
import java.nio.channels.SocketChannel;

/** A channel that the watchdog can cut. */
class WatchedChannel extends Watchdog.Watched {
    final SocketChannel channel;

    WatchedChannel(Watchdog watchdog, SocketChannel channel) {
        super(watchdog);
        this.channel = channel;
    }

    @Override
    final void cut() {
        Quietly.close(channel);
    }
}
