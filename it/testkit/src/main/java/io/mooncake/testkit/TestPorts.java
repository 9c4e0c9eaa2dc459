// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Random;

/**
 * Ports for servers that a test starts in a moment. They lie below those that the system hands out to clients, so that nobody gets one by
 * chance between the question and the server's start. Needs nothing besides the JDK; threading: safe for all threads.
 */
public final class TestPorts {
    /** Below it Ignite and others have their defaults. */
    private static final int FIRST = 12_000;
    /** Linux hands out ports from here on ({@code net.ipv4.ip_local_port_range}). */
    private static final int END = 32_768;

    private static final int ATTEMPTS = 200;
    private static final int MOST = 1_024;

    private TestPorts() {}

    /**
     * The first of {@code count} ports in a row on which nobody listens now.
     *
     * @param count 1..1024
     * @throws MooncakeException ILLEGAL_STATE when there are none
     */
    public static int free(int count) {
        if (count < 1 || count > MOST) {
            throw MooncakeException.invalid("count", count, "1.." + MOST);
        }
        Random random = new Random();
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            int first = FIRST + random.nextInt(END - FIRST - count);
            if (free(first, count)) {
                return first;
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.ILLEGAL_STATE, "no " + count + " free ports in a row below " + END);
    }

    /** A single one. */
    public static int free() {
        return free(1);
    }

    private static boolean free(int first, int count) {
        for (int port = first; port < first + count; port++) {
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                assert socket.isBound();
            } catch (IOException e) {
                return false;
            }
        }
        return true;
    }
}
