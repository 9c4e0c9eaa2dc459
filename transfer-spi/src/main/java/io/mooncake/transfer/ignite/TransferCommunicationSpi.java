// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferProtocol;
import io.mooncake.transfer.ignite.messages.EngineMessages;
import io.mooncake.transfer.ignite.messages.MessageStatistics;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgniteInClosure;
import org.apache.ignite.lang.IgniteRunnable;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.apache.ignite.spi.IgniteSpiConsistencyChecked;
import org.apache.ignite.spi.IgniteSpiContext;
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
 * plugin owns the engine. Ignite's own messages go by its own TCP unless {@link #setMessagesOverEngine} says otherwise.
 *
 * <p>Ownership: the engine lives from start to stop of this SPI. Threading: set properties before the node starts.
 */
@IgniteSpiMultipleInstancesSupport(true)
@IgniteSpiConsistencyChecked(optional = false)
public final class TransferCommunicationSpi extends TcpCommunicationSpi {
    /** Node attribute with the {@link PeerAddress} text; the same whether this SPI or the plugin owns the engine. */
    public static final String ATTRIBUTE_ENDPOINT = "mooncake.endpoint";

    private static final String PARENT_NAME = "TcpCommunicationSpi";

    private static final IgniteRunnable NOTHING = () -> {};
    private static final EngineOptionsReader.Names NAMES = new EngineOptionsReader.Names(
            "TransferCommunicationSpi.", "transferHost", "transferPortFrom", "transferPortTo");

    private final EngineOptions options = new EngineOptions();
    private long maxLeaseMillis = 10_000;
    private volatile @Nullable TransferEngine engine;
    private volatile @Nullable PeerAddress endpoint;
    private boolean messagesOverEngine;
    private volatile @Nullable EngineMessages messages;

    /** With defaults; the secret must be set. */
    public TransferCommunicationSpi() {
        // Ignite finds the parent's attributes of other nodes under the name of the SPI.
        setName(PARENT_NAME);
    }

    /** The cluster's secret, 16..256 characters, the same on all nodes. Required. */
    public TransferCommunicationSpi setSecret(String secret) {
        options.secret = secret;
        return this;
    }

    /** Address that the engine binds. Default: this SPI's local address, else the node's localHost. */
    public TransferCommunicationSpi setTransferHost(@Nullable String transferHost) {
        options.host = transferHost;
        return this;
    }

    /** First port tried, 1..65535; the engine takes three. Default 47700. */
    public TransferCommunicationSpi setTransferPortFrom(int transferPortFrom) {
        options.portFrom = transferPortFrom;
        return this;
    }

    /** Last port tried. Default 47899. */
    public TransferCommunicationSpi setTransferPortTo(int transferPortTo) {
        options.portTo = transferPortTo;
        return this;
    }

    /** Address that peers connect to. Default: what Ignite's address resolver says of the bound one, else the bound one. */
    public TransferCommunicationSpi setAdvertisedHost(@Nullable String advertisedHost) {
        options.advertisedHost = advertisedHost;
        return this;
    }

    /** Ways that the engine's own requests take: auto, tcp, shm or rdma. Default auto. */
    public TransferCommunicationSpi setTransferProtocol(@Nullable String transferProtocol) {
        options.transferProtocol = transferProtocol;
        return this;
    }

    /** Data connections to each peer and rail, 1..64. Default 2. */
    public TransferCommunicationSpi setConnectionsPerPeer(int connectionsPerPeer) {
        options.connectionsPerPeer = connectionsPerPeer;
        return this;
    }

    /** Addresses of further network interfaces that carry data, at most 7. Default none. */
    public TransferCommunicationSpi setRails(String @Nullable ... rails) {
        options.rails = rails == null ? null : Arrays.asList(rails);
        return this;
    }

    /** Names of the RDMA devices, separated by commas. Default: all whose port is active. */
    public TransferCommunicationSpi setRdmaDevice(@Nullable String rdmaDevice) {
        options.rdmaDevice = rdmaDevice;
        return this;
    }

    /** Port of the RDMA device, 1..255. Default 1. */
    public TransferCommunicationSpi setRdmaPort(int rdmaPort) {
        options.rdmaPort = rdmaPort;
        return this;
    }

    /** Entry in the table of global identifiers of that port, 0..255; -1 chooses by rule. Default -1. */
    public TransferCommunicationSpi setRdmaGidIndex(int rdmaGidIndex) {
        options.rdmaGidIndex = rdmaGidIndex;
        return this;
    }

    /** PKCS 12 file with the node's key: turns mutual TLS on between engines. Default none. */
    public TransferCommunicationSpi setTlsKeyStore(@Nullable String tlsKeyStore) {
        options.tlsKeyStore = tlsKeyStore;
        return this;
    }

    /** Password of {@link #setTlsKeyStore}. */
    public TransferCommunicationSpi setTlsKeyStorePassword(@Nullable String tlsKeyStorePassword) {
        options.tlsKeyStorePassword = tlsKeyStorePassword;
        return this;
    }

    /** PKCS 12 file with the certificates that are believed. */
    public TransferCommunicationSpi setTlsTrustStore(@Nullable String tlsTrustStore) {
        options.tlsTrustStore = tlsTrustStore;
        return this;
    }

    /** Password of {@link #setTlsTrustStore}. */
    public TransferCommunicationSpi setTlsTrustStorePassword(@Nullable String tlsTrustStorePassword) {
        options.tlsTrustStorePassword = tlsTrustStorePassword;
        return this;
    }

    /** Longest lease granted, 10..60,000 ms. Default 10,000. */
    public TransferCommunicationSpi setMaxLeaseMillis(long maxLeaseMillis) {
        this.maxLeaseMillis = maxLeaseMillis;
        return this;
    }

    /**
     * Whether Ignite's own messages between servers that both have this on go over the engine. Default false. Needs one connection a node
     * ({@code connectionsPerNode}).
     */
    public TransferCommunicationSpi setMessagesOverEngine(boolean messagesOverEngine) {
        this.messagesOverEngine = messagesOverEngine;
        return this;
    }

    public boolean isMessagesOverEngine() {
        return messagesOverEngine;
    }

    public @Nullable String getTransferHost() {
        return options.host;
    }

    public int getTransferPortFrom() {
        return options.portFrom;
    }

    public int getTransferPortTo() {
        return options.portTo;
    }

    public int getConnectionsPerPeer() {
        return options.connectionsPerPeer;
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

    /** The protocol that is asked for. */
    public TransferProtocol protocol() {
        return EngineOptionsReader.protocol(options);
    }

    /** What the engine would start with; throws CONFIGURATION with every violation. */
    public TransferEngineConfig engineConfig() {
        return engineConfig(ignite == null ? null : ignite.configuration());
    }

    /** As {@link #engineConfig()} before the node knows this SPI; its ports must be others than those of {@code node}. */
    public TransferEngineConfig engineConfig(@Nullable IgniteConfiguration node) {
        String given = options.secret;
        if (given == null) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "TransferCommunicationSpi.secret: missing (expected: 16..256 characters, the same on all nodes)");
        }
        String host = host(node);
        List<String> wrong = new ArrayList<>(EngineOptionsReader.violations(options, NAMES, host, node));
        if (given.length() < 16 || given.length() > 256) {
            wrong.add("TransferCommunicationSpi.secret: " + given.length() + " characters (expected: 16..256)");
        }
        if (maxLeaseMillis < 10 || maxLeaseMillis > 60_000) {
            wrong.add("TransferCommunicationSpi.maxLeaseMillis: " + maxLeaseMillis + " (expected: 10..60000)");
        }
        if (messagesOverEngine && getConnectionsPerNode() != 1) {
            wrong.add("TransferCommunicationSpi.messagesOverEngine: true (expected: false where connectionsPerNode is "
                    + getConnectionsPerNode() + ", which keeps no order)");
        }
        if (!wrong.isEmpty()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, String.join("; ", wrong));
        }
        return EngineOptionsReader.config(options, host, given, maxLeaseMillis);
    }

    private String host(@Nullable IgniteConfiguration node) {
        if (options.host != null) {
            return options.host;
        }
        if (getLocalAddress() != null) {
            return getLocalAddress();
        }
        String nodeHost = node == null ? null : node.getLocalHost();
        if (nodeHost != null) {
            return nodeHost;
        }
        throw new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "TransferCommunicationSpi.transferHost: missing (expected: the address that the engine binds, here or as"
                        + " localAddress or as the node's localHost)");
    }

    @Override
    public void spiStart(@Nullable String igniteInstanceName) throws IgniteSpiException {
        try {
            TransferEngine started = TransferEngine.start(engineConfig());
            engine = started;
            endpoint = options.advertisedHost == null
                    ? ExternalAddress.of(started.address(), getAddressResolver())
                    : started.address();
            super.spiStart(igniteInstanceName);
        } catch (MooncakeException e) {
            closeEngine();
            throw new IgniteSpiException(e.getMessage(), e);
        } catch (RuntimeException e) {
            closeEngine();
            throw e;
        }
    }

    /**
     * What other nodes are told of the engine: its own address, or the one that Ignite's address resolver names.
     *
     * @throws MooncakeException ILLEGAL_STATE before the node has started and after it has stopped
     */
    public PeerAddress endpoint() {
        PeerAddress told = endpoint;
        return told == null ? engine().address() : told;
    }

    @Override
    public Map<String, Object> getNodeAttributes() throws IgniteSpiException {
        Map<String, Object> attributes = new HashMap<>(super.getNodeAttributes());
        attributes.put(ATTRIBUTE_ENDPOINT, endpoint().encode());
        if (carriesMessages()) {
            attributes.put(EngineMessages.ATTRIBUTE, EngineMessages.VERSION);
        }
        return attributes;
    }

    private boolean carriesMessages() {
        return messagesOverEngine && !Boolean.TRUE.equals(ignite.configuration().isClientMode());
    }

    /** What went over the engine; null where messages do not. */
    public @Nullable MessageStatistics messageStatistics() {
        EngineMessages running = messages;
        return running == null ? null : running.statistics();
    }

    @Override
    public void onContextInitialized0(IgniteSpiContext context) throws IgniteSpiException {
        super.onContextInitialized0(context);
        if (carriesMessages()) {
            messages = new EngineMessages(engine(), context, new StockWay());
        }
    }

    @Override
    public void sendMessage(ClusterNode node, Message message) throws IgniteSpiException {
        EngineMessages running = messages;
        if (running == null || !running.send(node, message, null)) {
            super.sendMessage(node, message);
        }
    }

    @Override
    public void sendMessage(ClusterNode node, Message message, IgniteInClosure<IgniteException> acknowledged)
            throws IgniteSpiException {
        EngineMessages running = messages;
        if (running == null || !running.send(node, message, acknowledged)) {
            super.sendMessage(node, message, acknowledged);
        }
    }

    @Override
    protected void notifyListener(UUID sender, Message message, IgniteRunnable done) {
        EngineMessages running = messages;
        if (running != null && running.arrived(sender, message)) {
            done.run();
        } else {
            super.notifyListener(sender, message, done);
        }
    }

    @Override
    protected void onContextDestroyed0() {
        closeMessages();
        super.onContextDestroyed0();
    }

    @Override
    public void simulateNodeFailure() {
        closeMessages();
        super.simulateNodeFailure();
    }

    private void closeMessages() {
        EngineMessages running = messages;
        messages = null;
        if (running != null) {
            running.close();
        }
    }

    /** Ignite's own way, behind our back. */
    private final class StockWay implements EngineMessages.Stock {
        @Override
        public void send(ClusterNode node, Message message, @Nullable IgniteInClosure<IgniteException> ack) {
            if (ack == null) {
                TransferCommunicationSpi.super.sendMessage(node, message);
            } else {
                TransferCommunicationSpi.super.sendMessage(node, message, ack);
            }
        }

        @Override
        public void deliver(UUID from, Message message) {
            TransferCommunicationSpi.super.notifyListener(from, message, NOTHING);
        }
    }

    /** The parent first: it stops Ignite's messages, whose listeners may still use the engine. */
    @Override
    public void spiStop() throws IgniteSpiException {
        closeMessages();
        try {
            super.spiStop();
        } finally {
            closeEngine();
        }
    }

    private void closeEngine() {
        TransferEngine running = engine;
        engine = null;
        endpoint = null;
        if (running != null) {
            running.close();
        }
    }
}
