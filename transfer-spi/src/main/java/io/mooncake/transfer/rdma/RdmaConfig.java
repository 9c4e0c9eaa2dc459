// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;

/**
 * How an engine uses RDMA.
 *
 * @param devices names of the devices, at most {@link #MAX_DEVICES}; empty: all whose port is active. Peers pair their devices by position,
 *     so name them in the order of the network's rails
 * @param port number of the port of each, from 1
 * @param gidIndex entry of the ports' tables of global identifiers; -1: chosen by rule, RoCE v2 over IPv4 first
 * @param registrationBytes largest registration; larger regions are registered in pieces, 4 KiB..1 TiB
 * @param timeoutCode time to wait for the peer's device before a retry, 4.096 us times 2 to this power, 8..20
 * @param retries before the peer counts as unreachable, 1..7
 */
public record RdmaConfig(
        List<String> devices, int port, int gidIndex, long registrationBytes, int timeoutCode, int retries) {
    /** Devices that one engine uses. */
    public static final int MAX_DEVICES = 8;

    public RdmaConfig {
        devices = List.copyOf(devices);
        List<String> wrong = new ArrayList<>();
        if (devices.size() > MAX_DEVICES
                || devices.stream().distinct().count() != devices.size()
                || devices.contains("")) {
            wrong.add("devices: " + devices + " (expected: at most " + MAX_DEVICES + " names, each once)");
        }
        if (port < 1 || port > 255) {
            wrong.add("port: " + port + " (expected: 1..255)");
        }
        if (gidIndex < -1 || gidIndex > 255) {
            wrong.add("gidIndex: " + gidIndex + " (expected: -1..255)");
        }
        if (registrationBytes < 4096 || registrationBytes > 1L << 40) {
            wrong.add("registrationBytes: " + registrationBytes + " (expected: 4 KiB..1 TiB)");
        }
        if (timeoutCode < 8 || timeoutCode > 20) {
            wrong.add("timeoutCode: " + timeoutCode + " (expected: 8..20)");
        }
        if (retries < 1 || retries > 7) {
            wrong.add("retries: " + retries + " (expected: 1..7)");
        }
        if (!wrong.isEmpty()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, String.join("; ", wrong));
        }
    }

    /** All active devices, the first port of each, a peer that is silent for about 0.3 s is unreachable. */
    public static RdmaConfig defaults() {
        return ofDevices(List.of());
    }

    /** As {@link #defaults}, over the devices named. */
    public static RdmaConfig ofDevices(List<String> devices) {
        return new RdmaConfig(devices, 1, -1, 64L << 30, 14, 4);
    }
}
