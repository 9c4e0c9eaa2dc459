// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;

/** This machine's address where no configuration names one. */
public final class OwnAddress {
    private OwnAddress() {}

    /** The address that other hosts most likely reach: the first of a site, else any that is not the loopback, else the loopback. */
    public static String find() {
        String found = "127.0.0.1";
        try {
            for (NetworkInterface card : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (!card.isUp() || card.isLoopback() || card.isPointToPoint()) {
                    continue;
                }
                for (InetAddress address : Collections.list(card.getInetAddresses())) {
                    if (address instanceof Inet4Address && address.isSiteLocalAddress()) {
                        return address.getHostAddress();
                    }
                    if (address instanceof Inet4Address && !address.isLinkLocalAddress()) {
                        found = address.getHostAddress();
                    }
                }
            }
        } catch (SocketException e) {
            return found;
        }
        return found;
    }
}
