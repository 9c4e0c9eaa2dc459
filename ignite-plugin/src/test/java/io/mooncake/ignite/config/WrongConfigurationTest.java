// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A wrong configuration never starts; the message names key, value and what was expected, or the nearest valid key. */
class WrongConfigurationTest {
    private static final String SECRET = "<property name='secret' value='sixteen and more'/>";
    private static final String DRAM = "<property name='dram' value='1MiB'/>";
    private static final String GOOD = SECRET + DRAM;

    /**
     * @param bean what stands in the plugin's bean
     * @param ignite what stands in Ignite's configuration besides
     * @param expected parts of the message
     */
    private record Mistake(String name, String bean, String ignite, String... expected) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Mistake bean(String name, String bean, String... expected) {
        return new Mistake(name, bean, "", expected);
    }

    private static Mistake option(String name, String value, String... expected) {
        String[] parts = Stream.concat(Stream.of(name), Stream.of(expected)).toArray(String[]::new);
        String others = (name.equals("secret") ? "" : SECRET) + (name.equals("dram") ? "" : DRAM);
        return bean(name + "=" + value, others + "<property name='" + name + "' value='" + value + "'/>", parts);
    }

    private static Mistake typo(String wrong, String right) {
        return bean(
                "typo " + wrong,
                GOOD + "<property name='" + wrong + "' value='1'/>",
                wrong + ": unknown property",
                "nearest: " + right);
    }

    private static Mistake pool(String change, String... expected) {
        return bean("pool " + change, GOOD + pools(poolBean(change)), expected);
    }

    private static String pools(String... beans) {
        return "<property name='pools'><list>" + String.join("", beans) + "</list></property>";
    }

    /** A good pool with one property replaced or, with an empty value, left out. */
    private static String poolBean(String change) {
        String[] pair = change.split("=", 2);
        StringBuilder bean = new StringBuilder("<bean class='io.mooncake.ignite.PoolBean'>");
        String[][] good = {{"name", "p"}, {"model", "m"}, {"layers", "2"}, {"kvHeads", "2"}, {"headSize", "4"}};
        for (String[] property : good) {
            if (!property[0].equals(pair[0])) {
                bean.append("<property name='")
                        .append(property[0])
                        .append("' value='")
                        .append(property[1])
                        .append("'/>");
            }
        }
        if (pair.length == 2 && !pair[1].isEmpty()) {
            bean.append("<property name='")
                    .append(pair[0])
                    .append("' value='")
                    .append(pair[1])
                    .append("'/>");
        }
        return bean.append("</bean>").toString();
    }

    private static String extensions(String... classes) {
        StringBuilder list = new StringBuilder("<property name='extensions'><list>");
        for (String name : classes) {
            list.append("<bean class='io.mooncake.ignite.config.WrongConfigurationTest$")
                    .append(name)
                    .append("'/>");
        }
        return list + "</list></property>";
    }

    static Stream<Mistake> mistakes() {
        return Stream.of(
                        typos(),
                        types(),
                        secretsAndSizes(),
                        ssdMistakes(),
                        rangesAndPorts(),
                        engineOptions(),
                        spiOptions(),
                        poolMistakes(),
                        extensionMistakes(),
                        roles())
                .flatMap(mistakes -> mistakes);
    }

    private static Stream<Mistake> typos() {
        return Stream.concat(
                Stream.of(
                        typo("drma", "dram"),
                        typo("secrett", "secret"),
                        typo("rol", "role"),
                        typo("extention", "extensions"),
                        typo("pool", "pools"),
                        typo("hostt", "host"),
                        typo("portfrom", "portFrom"),
                        typo("portsTo", "portTo"),
                        typo("advertisedhost", "advertisedHost"),
                        typo("transferprotocol", "transferProtocol"),
                        typo("connectionPerPeer", "connectionsPerPeer"),
                        typo("rail", "rails"),
                        typo("rdmaDevise", "rdmaDevice"),
                        typo("evictionPolicie", "evictionPolicy"),
                        typo("tlsKeystore", "tlsKeyStore"),
                        typo("leaseMilis", "leaseMillis"),
                        typo("fetchTimeout", "fetchTimeoutMillis"),
                        typo("heartBeatMillis", "heartbeatMillis"),
                        typo("mirrorRowBudgets", "mirrorRowBudget"),
                        typo("stateRowsBudget", "stateRowBudget"),
                        typo("replica", "replicas"),
                        typo("drainOnStopTimeout", "drainOnStopTimeoutMillis"),
                        typo("warmupShare", "warmUpShare"),
                        typo("metricPort", "metricsPort"),
                        typo("metricsHosts", "metricsHost"),
                        typo("indexEntry", "indexEntries"),
                        typo("indexToken", "indexTokens"),
                        typo("feedring", "feedRing")),
                Stream.of(
                                "layer:layers",
                                "kvheads:kvHeads",
                                "headsize:headSize",
                                "blocktokens:blockTokens",
                                "vocabulary_:vocabulary",
                                "datatype:dataType")
                        .map(pair -> pair.split(":"))
                        .map(pair -> bean(
                                "typo in pool " + pair[0],
                                GOOD + pools(poolBean(pair[0] + "=1")),
                                pair[0] + ": unknown property",
                                "PoolBean",
                                "nearest: " + pair[1])));
    }

    private static Stream<Mistake> types() {
        return Stream.of(
                option("portFrom", "abc", "abc", "int"),
                option("portTo", "4.5", "4.5", "int"),
                option("leaseMillis", "10s", "10s", "long"),
                option("fetchTimeoutMillis", "1 s", "long"),
                option("heartbeatMillis", "fast", "fast", "long"),
                option("mirrorRowBudget", "many", "many", "int"),
                option("metricsPort", "http", "http", "int"),
                option("evictionPolicy", "LRU", "evictionPolicy: LRU (expected: one of lru, lfu,", "return-index)"),
                option("evictionPolicy", "", "evictionPolicy:  (expected: one of lru,"),
                option("role", "STOR", "role: STOR (expected: one of", "nearest: STORE"),
                option("role", "server", "role: server (expected: one of", "OBSERVER"),
                pool("layers=two", "layers", "two", "int"),
                pool("dataType=F64", "dataType: F64", "F32, F16, BF16"),
                pool("mode=SLOW", "mode: SLOW", "EXACT, FAST"));
    }

    private static Stream<Mistake> secretsAndSizes() {
        return Stream.of(
                bean("no secret", DRAM, "secret: not set (expected: 16..256 characters"),
                option("secret", "short", "secret: 5 characters"),
                option("secret", "x".repeat(257), "secret: 257 characters"),
                bean("no dram", SECRET, "dram: not set", "8GiB"),
                option(
                        "sharedMemoryDirectory",
                        "/nowhere/at/all",
                        "sharedMemoryDirectory: /nowhere/at/all",
                        "a directory"),
                option("sharedMemoryDirectory", "shm", "sharedMemoryDirectory: shm", "absolute"),
                option("dram", "8GB", "dram: 8GB", "8GiB"),
                option("dram", "8gib", "dram: 8gib", "GiB"),
                option("dram", "-1GiB", "dram: -1GiB"),
                option("dram", "0", "dram: 0", "at least"),
                option("dram", "", "dram: ", "whole number"),
                option("dram", "1.5GiB", "dram: 1.5GiB", "whole number"),
                option("dram", "lots", "dram: lots"),
                option("dram", "8 EiB", "dram: 8 EiB"),
                option("dram", "99999999999TiB", "at most 8388607TiB"),
                option("dram", "900TiB", "dram: 900TiB", "of this machine or container"),
                new Mistake(
                        "regions over memory",
                        GOOD,
                        """
                        <property name='dataStorageConfiguration'>
                          <bean class='org.apache.ignite.configuration.DataStorageConfiguration'>
                            <property name='defaultDataRegionConfiguration'>
                              <bean class='org.apache.ignite.configuration.DataRegionConfiguration'>
                                <property name='maxSize' value='#{900L * 1024 * 1024 * 1024 * 1024}'/>
                              </bean>
                            </property>
                          </bean>
                        </property>""",
                        "memory plan: Java heap",
                        "Ignite region 'default' 900.0 TiB",
                        "dram of this plugin 1.0 MiB"));
    }

    private static Mistake ssd(String path, String capacity, String... expected) {
        return bean("ssd " + path + " of " + capacity, GOOD + ssdBean(path, capacity), expected);
    }

    private static String ssdBean(String path, String capacity) {
        return "<property name='ssd'><bean class='io.mooncake.ignite.SsdTier'><property name='path' value='" + path
                + "'/><property name='capacity' value='" + capacity + "'/></bean></property>";
    }

    private static Stream<Mistake> ssdMistakes() {
        String folder = System.getProperty("java.io.tmpdir");
        return Stream.of(
                ssd("/nowhere/at/all", "1GiB", "ssd.path: /nowhere/at/all (expected: an existing directory"),
                ssd("no/such/folder", "1GiB", "no/such/folder (expected: an existing directory"),
                ssd("/etc/hostname", "1GiB", "ssd.path: /etc/hostname (expected: an existing directory"),
                ssd("", "1GiB", "ssd.path: not set (expected: an existing directory"),
                ssd(folder, "0", "ssd.capacity: 0 (expected: at least"),
                ssd(folder, "-1GiB", "ssd.capacity: -1GiB"),
                ssd(folder, "lots", "ssd.capacity: lots"),
                ssd(folder, "8000000TiB", "ssd.capacity: 8000000TiB (expected: at most the", "file system of"),
                // Blocks of 8 KiB, and a heap of 1 GiB.
                bean(
                        "ssd that the heap can't hold",
                        GOOD + pools(poolBean("name=p")) + ssdBean(folder, "20GiB"),
                        "ssd.capacity: 20GiB, which needs 1.",
                        "of the Java heap",
                        "expected: at most",
                        "-Xmx"),
                bean(
                        "ssd without anything",
                        GOOD + "<property name='ssd'><bean class='io.mooncake.ignite.SsdTier'/></property>",
                        "ssd.path: not set",
                        "ssd.capacity: not set (expected: a size such as 100GiB)"),
                bean(
                        "ssd of an observer",
                        SECRET + "<property name='role' value='OBSERVER'/>" + ssdBean(folder, "1GiB"),
                        "ssd: set (expected: not set where role is OBSERVER"),
                bean(
                        "typo in ssd",
                        GOOD
                                + "<property name='ssd'><bean class='io.mooncake.ignite.SsdTier'><property name='pth' value='x'/></bean></property>",
                        "pth: unknown property",
                        "nearest: path"));
    }

    private static Stream<Mistake> rangesAndPorts() {
        return Stream.of(
                option("portFrom", "0", "portFrom: 0 (expected: 1..65535)"),
                option("portFrom", "-1", "portFrom: -1"),
                option("portFrom", "70000", "portFrom: 70000"),
                option("portTo", "65536", "portTo: 65536"),
                option("portTo", "47701", "portFrom..portTo: 47700..47701 (expected: at least three ports)"),
                option("portTo", "100", "at least three ports"),
                bean(
                        "ports of communication",
                        GOOD + "<property name='portFrom' value='47150'/><property name='portTo' value='47160'/>",
                        "communication range 47100..47200"),
                bean(
                        "port of clients",
                        GOOD + "<property name='portFrom' value='10800'/><property name='portTo' value='10805'/>",
                        "client connector range 10800..10900"),
                option("leaseMillis", "0", "leaseMillis: 0 (expected: 100..60000)"),
                option("leaseMillis", "-5", "leaseMillis: -5"),
                option("leaseMillis", "60001", "leaseMillis: 60001"),
                option("fetchTimeoutMillis", "0", "1..600000"),
                option("fetchTimeoutMillis", "600001", "1..600000"),
                option("heartbeatMillis", "49", "50..2000"),
                option("heartbeatMillis", "2001", "50..2000"),
                option("mirrorRowBudget", "0", "1000..100000000"),
                option("mirrorRowBudget", "-1", "1000..100000000"),
                option("stateRowBudget", "99", "stateRowBudget: 99 (expected: 100..1000000)"),
                option("stateRowBudget", "1000001", "100..1000000"),
                option("replicas", "0", "replicas: 0 (expected: 1..8)"),
                option("replicas", "9", "1..8"),
                option("drainOnStopTimeoutMillis", "-1", "drainOnStopTimeoutMillis: -1 (expected: 0..3600000)"),
                option("warmUpShare", "-0.1", "warmUpShare: -0.1 (expected: 0..0.9)"),
                option("warmUpShare", "NaN", "warmUpShare: NaN", "0..0.9"),
                option("warmUpShare", "1", "warmUpShare: 1.0", "0..0.9"),
                option("indexEntries", "1023", "indexEntries: 1023 (expected: 1024..67108862)"),
                option("indexTokens", "-1", "indexTokens: -1 (expected: 0..1073741824)"),
                option("indexTokens", "1073741825", "0..1073741824"),
                option("indexEntries", "67108863", "1024..67108862"),
                option("feedRing", "1MiB", "feedRing: 1MiB (expected: 2MiB..16GiB)"),
                option("feedRing", "17GiB", "2MiB..16GiB"),
                option("feedRing", "big", "feedRing: big"),
                option(
                        "operators",
                        "ignite,,",
                        "operators: [ignite, , ] (expected: a list of logins, none of them empty)"),
                option("tenantResolver", "acme", "acme", "TenantResolver"),
                bean(
                        "tenant without a name",
                        GOOD + "<property name='tenantResolver'><bean class='io.mooncake.ignite.KnownTenants'>"
                                + "<property name='logins'><map><entry key='alice' value=''/></map></property>"
                                + "</bean></property>",
                        "tenant name:  (expected: 1..128 characters)"),
                option(
                        "jobClasses",
                        "com.acme.Job,com acme",
                        "jobClasses: com acme (expected: com.acme.Job, com.acme.*"),
                option("jobClasses", "com.*.Job", "jobClasses: com.*.Job (expected:"),
                option("jobClasses", "com.acme.*,", "jobClasses:  (expected:"),
                option(
                        "jobClasses",
                        "file:/nowhere/classes.txt",
                        "jobClasses: file:/nowhere/classes.txt (expected: a file that can be read"),
                option("metricsPort", "-1", "metricsPort: -1 (expected: 0..65535)"),
                option("metricsPort", "65536", "metricsPort: 65536 (expected: 0..65535)"),
                option("metricsHost", "", "metricsHost: empty (expected: an address of this machine)"),
                option("metricsHost", "192.0.2.1", "metricsHost: 192.0.2.1 (expected: an address of this machine)"),
                option("host", "", "host: empty", "an address of this machine"),
                option("host", "192.0.2.1", "host: 192.0.2.1", "an address of this machine"));
    }

    private static Stream<Mistake> engineOptions() {
        String store = "<property name='tlsKeyStore' value='/no/such.p12'/>";
        String rest = "<property name='tlsKeyStorePassword' value='topsecret'/>"
                + "<property name='tlsTrustStore' value='/etc/hostname'/>"
                + "<property name='tlsTrustStorePassword' value='topsecret'/>";
        return Stream.of(
                option("transferProtocol", "udp", "transferProtocol: udp (expected: auto, tcp, shm or rdma)"),
                option("transferProtocol", "", "transferProtocol: empty (expected: auto, tcp, shm or rdma)"),
                option("advertisedHost", "", "advertisedHost: empty", "peers can reach"),
                option("advertisedHost", "0.0.0.0", "advertisedHost: 0.0.0.0", "peers can reach"),
                option("advertisedHost", "http://me/", "advertisedHost: http://me/"),
                option("connectionsPerPeer", "0", "connectionsPerPeer: 0 (expected: 1..64)"),
                option("connectionsPerPeer", "65", "connectionsPerPeer: 65"),
                option("connectionsPerPeer", "many", "many", "int"),
                option("rails", "192.0.2.7", "rails[0]: 192.0.2.7 (expected: an address of this machine)"),
                option("rails", "127.0.0.1", "rails[0]: 127.0.0.1 (expected: each address once, and not that of host)"),
                option("rails", "127.0.0.2,127.0.0.2", "rails[1]: 127.0.0.2 (expected: each address once"),
                option("rails", "0.0.0.0", "rails[0]: 0.0.0.0"),
                option(
                        "rdmaDevice",
                        "mlx5_0,mlx5_0",
                        "rdmaDevice: mlx5_0,mlx5_0 (expected: up to 8 names such as mlx5_0, separated by commas)"),
                option(
                        "rdmaDevice",
                        "",
                        "rdmaDevice: empty (expected: up to 8 names such as mlx5_0, separated by commas)"),
                option("rdmaPort", "0", "rdmaPort: 0 (expected: 1..255)"),
                option("rdmaGidIndex", "256", "rdmaGidIndex: 256 (expected: -1..255)"),
                bean(
                        "device without RDMA",
                        GOOD
                                + "<property name='transferProtocol' value='tcp'/><property name='rdmaDevice' value='mlx5_0'/>",
                        "rdmaDevice: mlx5_0 (expected: not set where transferProtocol is tcp)"),
                bean(
                        "half of TLS",
                        GOOD + store,
                        "tlsKeyStorePassword: not set (expected: all four options of TLS or none)",
                        "tlsTrustStore: not set"),
                bean(
                        "stores that do not open",
                        GOOD + store + rest,
                        "tlsKeyStore: /no/such.p12 (expected: a PKCS 12 file that opens with tlsKeyStorePassword",
                        "tlsTrustStore: /etc/hostname (expected: a PKCS 12 file that opens with tlsTrustStorePassword"));
    }

    /** The same mechanism behind the SPI's bean. */
    private static Stream<Mistake> spiOptions() {
        return Stream.of(
                spi("transferProtocol=udp", "TransferCommunicationSpi.transferProtocol: udp (expected: auto, tcp"),
                spi("transferPortFrom=0", "TransferCommunicationSpi.transferPortFrom: 0 (expected: 1..65535)"),
                spi("transferPortTo=47701", "transferPortFrom..transferPortTo: 47700..47701 (expected: at least three"),
                spi("localPort=47700", "no port of Ignite's communication range 47700..47800"),
                spi("transferHost=192.0.2.1", "TransferCommunicationSpi.transferHost: 192.0.2.1"),
                spi("maxLeaseMillis=5", "TransferCommunicationSpi.maxLeaseMillis: 5 (expected: 10..60000)"),
                spi("connectionsPerPeer=0", "TransferCommunicationSpi.connectionsPerPeer: 0 (expected: 1..64)"),
                spiWith(
                        "messagesOverEngine=true",
                        spiBean("connectionsPerNode=2"),
                        "messagesOverEngine: true (expected: false where connectionsPerNode is 2"),
                spi("transferprotocol=tcp", "transferprotocol: unknown property", "nearest: transferProtocol"),
                new Mistake(
                        "protocol at the plugin, engine at the SPI",
                        GOOD + "<property name='transferProtocol' value='tcp'/>",
                        spiBean("maxLeaseMillis=1000"),
                        "transferProtocol: set (expected: not set here but on TransferCommunicationSpi"));
    }

    private static Mistake spiWith(String change, String bean, String expected) {
        String[] pair = change.split("=", 2);
        String more = "<property name='" + pair[0] + "' value='" + pair[1] + "'/></bean>";
        return new Mistake("spi " + change, GOOD, bean.replace("</bean>", more), expected);
    }

    private static Mistake spi(String change, String... expected) {
        return new Mistake("spi " + change, GOOD, spiBean(change), expected);
    }

    private static String spiBean(String change) {
        String[] pair = change.split("=", 2);
        return "<property name='communicationSpi'><bean class='io.mooncake.transfer.ignite.TransferCommunicationSpi'>"
                + "<property name='" + pair[0] + "' value='" + pair[1] + "'/></bean></property>";
    }

    private static Stream<Mistake> poolMistakes() {
        return Stream.of(
                pool("name=", "pools[0].pool name"),
                pool("name=a b", "pools[0].pool name: a b"),
                pool("name=a/b", "pools[0].pool name: a/b"),
                pool("model=", "pools[0].model"),
                pool("layers=0", "pools[0].layers: 0 (expected: 1..1024)"),
                pool("layers=1025", "pools[0].layers: 1025"),
                pool("kvHeads=-1", "pools[0].kvHeads: -1"),
                pool("headSize=5000", "pools[0].headSize: 5000"),
                pool("blockTokens=0", "pools[0].blockTokens: 0 (expected: 1..4096)"),
                pool("blockTokens=4097", "pools[0].blockTokens: 4097"),
                pool("vocabulary=0", "pools[0].vocabulary: 0"),
                bean(
                        "pool with empty rope",
                        GOOD + pools(poolBean("x=").replace("</bean>", "<property name='rope' value=''/></bean>")),
                        "pools[0].rope: "),
                bean(
                        "pool named twice",
                        GOOD + pools(poolBean("name=p"), poolBean("name=p")),
                        "pools[1].name: p (expected: a name that no other pool has)"),
                bean(
                        "pool named twice, another layout",
                        GOOD + pools(poolBean("name=p"), poolBean("layers=3")),
                        "pools[1].name: p",
                        "layers 2 against 3"),
                bean(
                        "no block fits",
                        SECRET + "<property name='dram' value='4KiB'/>" + pools(poolBean("layers=64")),
                        "dram: 4KiB",
                        "one block"),
                bean("null pool", GOOD + "<property name='pools'><list><null/></list></property>", "pools[0]: null"),
                bean("null pools", GOOD + "<property name='pools'><null/></property>", "pools: null"));
    }

    private static Stream<Mistake> extensionMistakes() {
        return Stream.of(
                bean("extension named twice", GOOD + extensions("Good", "Good"), "extensions[1].name: good"),
                bean("extension without name", GOOD + extensions("Nameless"), "extensions[0].name: empty"),
                bean(
                        "extension refuses",
                        GOOD + extensions("Refusing"),
                        "extensions[0]: file: no.gguf (expected: a file)"),
                bean("extension is too large", GOOD + extensions("Huge"), "memory plan", "extensions 512.0 TiB"),
                bean(
                        "extension's pool differs",
                        GOOD + pools(poolBean("name=shared")) + extensions("Good"),
                        "extension good.name: shared",
                        "one identity a pool name"),
                bean(
                        "null extension",
                        GOOD + "<property name='extensions'><list><null/></list></property>",
                        "extensions[0]: null"));
    }

    private static Stream<Mistake> roles() {
        return Stream.of(
                bean("observer with dram", GOOD + "<property name='role' value='OBSERVER'/>", "dram: 1MiB", "OBSERVER"),
                new Mistake(
                        "store on a client",
                        GOOD + "<property name='role' value='STORE'/>",
                        "<property name='clientMode' value='true'/>",
                        "role: STORE (expected: COMPUTE or OBSERVER on a client node)"),
                bean(
                        "three at once",
                        "<property name='dram' value='x'/><property name='leaseMillis' value='1'/>",
                        "secret: not set",
                        "dram: x",
                        "leaseMillis: 1"));
    }

    @BeforeAll
    static void warmUp() {
        assertThat(catchThrowable(() -> start(bean("warm-up", "")))).isNotNull();
    }

    @Test
    void table_isLongEnough() {
        assertThat(mistakes().count()).isGreaterThanOrEqualTo(60);
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void start_wrongConfiguration_isRefusedWithKeyAndExpectation(Mistake mistake) {
        // The best of some tries: on a busy machine the others' time counts, too.
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 5 && best >= 2_000; i++) {
            best = Math.min(best, millisUntilRefused(mistake));
        }
        assertThat(best).as("milliseconds").isLessThan(2_000);
    }

    private static long millisUntilRefused(Mistake mistake) {
        long startedAt = System.nanoTime();
        Throwable error = catchThrowable(() -> start(mistake));
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedAt);
        assertThat(error).as("refused").isNotNull();
        String message =
                ConfigurationNames.explain(error).orElseGet(() -> root(error).getMessage());
        assertThat(message).contains(mistake.expected());
        assertThat(Ignition.allGrids()).isEmpty();
        return millis;
    }

    private static Throwable root(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    private static void start(Mistake mistake) {
        String xml = """
                <beans xmlns='http://www.springframework.org/schema/beans'
                       xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'
                       xsi:schemaLocation='http://www.springframework.org/schema/beans
                           http://www.springframework.org/schema/beans/spring-beans.xsd'>
                  <bean class='org.apache.ignite.configuration.IgniteConfiguration'>
                    <property name='localHost' value='127.0.0.1'/>
                    <property name='gridLogger'><bean class='org.apache.ignite.logger.slf4j.Slf4jLogger'/></property>
                    <property name='pluginProviders'><list>
                      <bean class='io.mooncake.ignite.MooncakePluginProvider'>%s</bean>
                    </list></property>
                    %s
                  </bean>
                </beans>""".formatted(mistake.bean(), mistake.ignite());
        Ignition.start(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)))
                .close();
    }

    /** An extension that is fine, with a pool called shared. */
    public static class Good implements NodeExtension {
        @Override
        public String name() {
            return "good";
        }

        @Override
        public List<PoolDefinition> pools() {
            KvIdentity identity = new KvIdentity(
                    "a".repeat(64), "b".repeat(64), "", "e", "r", ReuseMode.EXACT, KvDataType.F32, 1, 1, 4, 4, 1, 0);
            return List.of(new PoolDefinition("shared", identity, 10));
        }

        @Override
        public void start(Mooncake mooncake) {}

        @Override
        public void stop() {}
    }

    /** An extension without a name. */
    public static final class Nameless extends Good {
        @Override
        public String name() {
            return "";
        }
    }

    /** An extension that does not like its file. */
    public static final class Refusing extends Good {
        @Override
        public void validate() {
            throw new MooncakeException(MooncakeException.Code.MODEL_REFUSED, "file: no.gguf (expected: a file)");
        }
    }

    /** An extension that needs more memory than there is. */
    public static final class Huge extends Good {
        @Override
        public long offHeapBytes() {
            return 512L << 40;
        }
    }
}
