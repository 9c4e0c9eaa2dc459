// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;

/**
 * What an engine needs to start.
 *
 * @param bindHost address to listen on
 * @param advertisedHost address that peers connect to
 * @param portFrom first port tried
 * @param portTo last port tried; an engine takes three
 * @param secret the cluster's secret, 16..256 characters; peers without it are cut
 * @param connectionsPerPeer data connections to each peer, 1..64
 * @param maxLeaseMillis longest lease granted, 10..60,000
 * @param checksum whether reads are verified; off only in benchmarks
 */
public record TransferEngineConfig(
        String bindHost,
        String advertisedHost,
        int portFrom,
        int portTo,
        String secret,
        int connectionsPerPeer,
        long maxLeaseMillis,
        boolean checksum) {

    public TransferEngineConfig {
        List<String> wrong = new ArrayList<>();
        if (bindHost.isEmpty()) {
            wrong.add("bindHost: empty (expected: an address of this machine)");
        }
        if (advertisedHost.isEmpty()) {
            wrong.add("advertisedHost: empty (expected: an address that peers can reach)");
        }
        if (portFrom < 1 || portTo > 65535 || portTo - portFrom < 2) {
            wrong.add("port range: " + portFrom + ".." + portTo + " (expected: at least three ports in 1..65535)");
        }
        if (secret.length() < 16 || secret.length() > 256) {
            wrong.add("secret: " + secret.length() + " characters (expected: 16..256)");
        }
        if (connectionsPerPeer < 1 || connectionsPerPeer > 64) {
            wrong.add("connectionsPerPeer: " + connectionsPerPeer + " (expected: 1..64)");
        }
        if (maxLeaseMillis < 10 || maxLeaseMillis > 60_000) {
            wrong.add("maxLeaseMillis: " + maxLeaseMillis + " (expected: 10..60000)");
        }
        if (!wrong.isEmpty()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, String.join("; ", wrong));
        }
    }

    /** A configuration on {@code host} with defaults: ports 47700..47899, two connections a peer, leases up to 10 s, checksums on. */
    public static TransferEngineConfig of(String host, String secret) {
        return new TransferEngineConfig(host, host, 47700, 47899, secret, 2, 10_000, true);
    }

    @Override
    public String toString() {
        return "TransferEngineConfig[" + bindHost + " as " + advertisedHost + ", ports " + portFrom + ".." + portTo
                + ", connectionsPerPeer=" + connectionsPerPeer + ", maxLeaseMillis=" + maxLeaseMillis + ", checksum="
                + checksum + "]";
    }
}
