// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.io.IOException;
import java.nio.channels.Channel;

/** Closes channels where a failure to close changes nothing: the descriptor is gone for us either way, and blocked threads wake up. */
public final class Quietly {
    private Quietly() {}

    public static void close(Channel channel) {
        try {
            channel.close();
        } catch (IOException expected) {
            // See above; there is nobody who could do anything about it.
        }
    }
}
