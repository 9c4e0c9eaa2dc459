// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.rdma.RdmaConfig;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
 * @param protocol which ways its own requests take
 * @param rdma how RDMA devices are used; defaults where null
 * @param rails addresses of further network interfaces of this machine on which data is served and from which it is asked for, at most
 *     {@link #MAX_RAILS} together with the first; empty: {@code bindHost} alone
 * @param tls mutual TLS on all connections, or null
 */
public record TransferEngineConfig(
        String bindHost,
        String advertisedHost,
        int portFrom,
        int portTo,
        String secret,
        int connectionsPerPeer,
        long maxLeaseMillis,
        boolean checksum,
        TransferProtocol protocol,
        @Nullable RdmaConfig rdma,
        List<String> rails,
        @Nullable TlsConfig tls) {
    /** Network interfaces that one engine uses. */
    public static final int MAX_RAILS = 8;

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
        rails = List.copyOf(rails);
        if (rails.size() > MAX_RAILS - 1) {
            wrong.add("rails: " + rails.size() + " (expected: 0.." + (MAX_RAILS - 1) + ")");
        }
        if (rails.stream().anyMatch(rail -> rail.isEmpty() || rail.equals(bindHost))
                || rails.stream().distinct().count() != rails.size()) {
            wrong.add("rails: " + rails + " (expected: addresses of this machine, each once, without bindHost)");
        }
        if (!wrong.isEmpty()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, String.join("; ", wrong));
        }
    }

    /** A configuration on {@code host} with defaults, see {@link Builder}. */
    public static TransferEngineConfig of(String host, String secret) {
        return builder(host, secret).build();
    }

    /** Starts a configuration on {@code host} with the defaults of {@link Builder}. */
    public static Builder builder(String host, String secret) {
        return new Builder(host, secret);
    }

    /**
     * Collects a configuration. Defaults: ports 47700..47899, two connections a peer, leases up to 10 s, checksums on, protocol auto, no
     * further rails, no TLS.
     */
    public static final class Builder {
        private final String host;
        private final String secret;
        private String advertisedHost;
        private int portFrom = 47_700;
        private int portTo = 47_899;
        private int connectionsPerPeer = 2;
        private long maxLeaseMillis = 10_000;
        private boolean checksum = true;
        private TransferProtocol protocol = TransferProtocol.AUTO;
        private @Nullable RdmaConfig rdma;
        private List<String> rails = List.of();
        private @Nullable TlsConfig tls;

        private Builder(String host, String secret) {
            this.host = host;
            this.secret = secret;
            this.advertisedHost = host;
        }

        /** Address that peers connect to, where it is not the bound one. */
        public Builder advertisedHost(String value) {
            advertisedHost = value;
            return this;
        }

        /** First and last port tried; an engine takes three. */
        public Builder ports(int from, int to) {
            portFrom = from;
            portTo = to;
            return this;
        }

        /** Data connections to each peer and rail. */
        public Builder connectionsPerPeer(int value) {
            connectionsPerPeer = value;
            return this;
        }

        /** Longest lease granted. */
        public Builder maxLeaseMillis(long value) {
            maxLeaseMillis = value;
            return this;
        }

        /** Whether reads are verified; off only in benchmarks. */
        public Builder checksum(boolean value) {
            checksum = value;
            return this;
        }

        /** Which ways requests take. */
        public Builder protocol(TransferProtocol value) {
            protocol = value;
            return this;
        }

        /** How RDMA devices are used. */
        public Builder rdma(@Nullable RdmaConfig value) {
            rdma = value;
            return this;
        }

        /** Addresses of further network interfaces. */
        public Builder rails(List<String> value) {
            rails = value;
            return this;
        }

        /** Mutual TLS. */
        public Builder tls(@Nullable TlsConfig value) {
            tls = value;
            return this;
        }

        /**
         * The configuration.
         *
         * @throws MooncakeException CONFIGURATION with every violation
         */
        public TransferEngineConfig build() {
            return new TransferEngineConfig(
                    host,
                    advertisedHost,
                    portFrom,
                    portTo,
                    secret,
                    connectionsPerPeer,
                    maxLeaseMillis,
                    checksum,
                    protocol,
                    rdma,
                    rails,
                    tls);
        }
    }

    @Override
    public String toString() {
        return "TransferEngineConfig[" + bindHost + " as " + advertisedHost + ", ports " + portFrom + ".." + portTo
                + ", connectionsPerPeer=" + connectionsPerPeer + ", maxLeaseMillis=" + maxLeaseMillis + ", checksum="
                + checksum + ", protocol=" + protocol.text() + (rails.isEmpty() ? "" : ", rails=" + rails)
                + (tls == null ? "" : ", tls") + "]";
    }
}
