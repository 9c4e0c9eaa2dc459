// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import java.util.HashMap;
import java.util.Map;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.spi.IgniteSpiConsistencyChecked;
import org.apache.ignite.spi.IgniteSpiException;
import org.apache.ignite.spi.IgniteSpiMultipleInstancesSupport;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.jspecify.annotations.Nullable;

/**
 * Ignite's TCP communication, which also starts and owns the node's transfer engine and publishes its endpoint as a node attribute.
 *
 * <pre>{@code
 * <property name="communicationSpi"><bean class="io.mooncake.transfer.ignite.TransferCommunicationSpi">
 *   <property name="secret" value="${mooncake.secret}"/>
 *   <property name="transferPortFrom" value="47700"/> <property name="transferPortTo" value="47899"/>
 * </bean></property>
 * }</pre>
 *
 * Ignite compares the class of this SPI over the whole cluster: every node, clients included, must have it; where that cannot be, the
 * plugin owns the engine. Ignite's own messages are untouched.
 *
 * <p>Ownership: the engine lives from start to stop of this SPI. Threading: set properties before the node starts.
 */
@IgniteSpiMultipleInstancesSupport(true)
@IgniteSpiConsistencyChecked(optional = false)
public final class TransferCommunicationSpi extends TcpCommunicationSpi {
    /** Node attribute with the {@link PeerAddress} text; the same whether this SPI or the plugin owns the engine. */
    public static final String ATTRIBUTE_ENDPOINT = "mooncake.endpoint";

    private static final String PARENT_NAME = "TcpCommunicationSpi";

    private @Nullable String secret;
    private @Nullable String transferHost;
    private int transferPortFrom = 47700;
    private int transferPortTo = 47899;
    private int connectionsPerPeer = 2;
    private long maxLeaseMillis = 10_000;
    private volatile @Nullable TransferEngine engine;

    /** With defaults; the secret must be set. */
    public TransferCommunicationSpi() {
        // Ignite finds the parent's attributes of other nodes under the name of the SPI.
        setName(PARENT_NAME);
    }

    /** The cluster's secret, 16..256 characters, the same on all nodes. Required. */
    public TransferCommunicationSpi setSecret(String secret) {
        this.secret = secret;
        return this;
    }

    /** Address that the engine binds and that peers connect to. Default: this SPI's local address, else the node's localHost. */
    public TransferCommunicationSpi setTransferHost(String transferHost) {
        this.transferHost = transferHost;
        return this;
    }

    /** First port tried, 1..65535; the engine takes three. Default 47700. */
    public TransferCommunicationSpi setTransferPortFrom(int transferPortFrom) {
        this.transferPortFrom = transferPortFrom;
        return this;
    }

    /** Last port tried. Default 47899. */
    public TransferCommunicationSpi setTransferPortTo(int transferPortTo) {
        this.transferPortTo = transferPortTo;
        return this;
    }

    /** Data connections to each peer, 1..64. Default 2. */
    public TransferCommunicationSpi setConnectionsPerPeer(int connectionsPerPeer) {
        this.connectionsPerPeer = connectionsPerPeer;
        return this;
    }

    /** Longest lease granted, 10..60,000 ms. Default 10,000. */
    public TransferCommunicationSpi setMaxLeaseMillis(long maxLeaseMillis) {
        this.maxLeaseMillis = maxLeaseMillis;
        return this;
    }

    public @Nullable String getTransferHost() {
        return transferHost;
    }

    public int getTransferPortFrom() {
        return transferPortFrom;
    }

    public int getTransferPortTo() {
        return transferPortTo;
    }

    public int getConnectionsPerPeer() {
        return connectionsPerPeer;
    }

    public long getMaxLeaseMillis() {
        return maxLeaseMillis;
    }

    /**
     * The running engine. It belongs to this SPI: never close it.
     *
     * @throws MooncakeException ILLEGAL_STATE before the node has started and after it has stopped
     */
    public TransferEngine engine() {
        TransferEngine running = engine;
        if (running == null) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE,
                    "TransferCommunicationSpi: not started (expected: a running node)");
        }
        return running;
    }

    /** Where {@code node}'s engine is, or null when it has none. */
    public static @Nullable PeerAddress endpointOf(ClusterNode node) {
        Object text = node.attribute(ATTRIBUTE_ENDPOINT);
        return text instanceof String endpoint ? PeerAddress.parse(endpoint) : null;
    }

    /** What the engine would start with; throws CONFIGURATION with every violation. */
    public TransferEngineConfig engineConfig() {
        String given = secret;
        if (given == null) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "TransferCommunicationSpi.secret: missing (expected: 16..256 characters, the same on all nodes)");
        }
        String host = host();
        return TransferEngineConfig.builder(host, given)
                .ports(transferPortFrom, transferPortTo)
                .connectionsPerPeer(connectionsPerPeer)
                .maxLeaseMillis(maxLeaseMillis)
                .build();
    }

    private String host() {
        if (transferHost != null) {
            return transferHost;
        }
        if (getLocalAddress() != null) {
            return getLocalAddress();
        }
        String nodeHost = ignite == null ? null : ignite.configuration().getLocalHost();
        if (nodeHost != null) {
            return nodeHost;
        }
        throw new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "TransferCommunicationSpi.transferHost: missing (expected: the address that peers connect to, here or as"
                        + " localAddress or as the node's localHost)");
    }

    @Override
    public void spiStart(@Nullable String igniteInstanceName) throws IgniteSpiException {
        try {
            engine = TransferEngine.start(engineConfig());
        } catch (MooncakeException e) {
            throw new IgniteSpiException(e.getMessage(), e);
        }
        try {
            super.spiStart(igniteInstanceName);
        } catch (RuntimeException e) {
            closeEngine();
            throw e;
        }
    }

    @Override
    public Map<String, Object> getNodeAttributes() throws IgniteSpiException {
        Map<String, Object> attributes = new HashMap<>(super.getNodeAttributes());
        attributes.put(ATTRIBUTE_ENDPOINT, engine().address().encode());
        return attributes;
    }

    /** The parent first: it stops Ignite's messages, whose listeners may still use the engine. */
    @Override
    public void spiStop() throws IgniteSpiException {
        try {
            super.spiStop();
        } finally {
            closeEngine();
        }
    }

    private void closeEngine() {
        TransferEngine running = engine;
        engine = null;
        if (running != null) {
            running.close();
        }
    }
}
