// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.production;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.it.support.CompareJob;
import io.mooncake.it.support.NodeProcesses;
import io.mooncake.it.support.Prompts;
import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.MooncakeCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.ClientAuthenticationException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.client.SslMode;
import org.apache.ignite.client.SslProtocol;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.ssl.SslContextFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The three servers of examples/config/production: persistence, TLS, authentication. Ignite does not take strangers, nor does the pool. */
class ProductionIT {
    private static final String PASSWORD = "changeit-changeit";
    private static final Duration PATIENCE = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    @Test
    void cluster_activated_servesMembersAndUsers() throws Exception {
        Path keys = store("server");
        Path trust = trust(keys);
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.exampleConfig("production/node.xml"))) {
            List<ForkedJvm> nodes = new ArrayList<>();
            for (String name : List.of("a", "b", "c")) {
                nodes.add(cluster.launch(
                        name,
                        "mooncake.id=" + name,
                        "mooncake.host=127.0.0.1",
                        "mooncake.key.store=" + keys,
                        "mooncake.key.store.password=" + PASSWORD,
                        "mooncake.trust.store=" + trust,
                        "mooncake.trust.store.password=" + PASSWORD,
                        "mooncake.failure.detection.millis=30000",
                        "mooncake.drain.millis=5000",
                        "mooncake.ssd=" + Files.createDirectory(folder.resolve("ssd-" + name)),
                        "mooncake.ssd.capacity=64MiB"));
            }
            nodes.forEach(cluster::awaitReady);
            int port = cluster.jdbcPort(nodes.get(0));
            ClientConfiguration thin = thin(port, keys, trust);

            assertThatThrownBy(() -> Ignition.startClient(thin.setUserPassword("wrong")))
                    .isInstanceOf(ClientAuthenticationException.class);
            try (IgniteClient client = Ignition.startClient(thin.setUserPassword("ignite"))) {
                client.cluster().state(ClusterState.ACTIVE);
                assertThat(client.cluster().state()).isEqualTo(ClusterState.ACTIVE);
            }
            Mooncake member = Mooncake.of(cluster.client(new IgniteConfiguration()
                    .setAuthenticationEnabled(true)
                    .setSslContextFactory(ssl(keys, trust))
                    .setPluginProviders(new MooncakePluginProvider()
                            .setRole(Role.OBSERVER)
                            .setSecret(cluster.secret())
                            .setTlsKeyStore(keys.toString())
                            .setTlsKeyStorePassword(PASSWORD)
                            .setTlsTrustStore(trust.toString())
                            .setTlsTrustStorePassword(PASSWORD))));
            int[] prompt = Prompts.random(11, 200);
            member.submit(Route.of(NodeProcesses.MODEL, prompt).onNode(cluster.nodeId(nodes.get(0))), new CompareJob(2))
                    .toCompletableFuture()
                    .get(120, TimeUnit.SECONDS);
            // Two copies of each of the three blocks, as the file asks for.
            MooncakeCluster.await(
                    "every block twice", PATIENCE, () -> member.statistics().indexEntries() >= 6);
            CompareJob.Both elsewhere = member.submit(
                            Route.of(NodeProcesses.MODEL, prompt).onNode(cluster.nodeId(nodes.get(1))),
                            new CompareJob(2))
                    .toCompletableFuture()
                    .get(120, TimeUnit.SECONDS);
            assertThat(elsewhere.identical()).isTrue();
            assertThat(elsewhere.cached().localTokens() + elsewhere.cached().remoteTokens())
                    .isEqualTo(192);
            MooncakeCluster.await("SQL knows the prefix", PATIENCE, () -> prefixes(port, keys, trust) > 0);
            nodes.forEach(node -> assertThat(node.alive()).isTrue());
        }
    }

    private static int prefixes(int port, Path keys, Path trust) {
        String url = "jdbc:ignite:thin://127.0.0.1:" + port + "?user=ignite&password=ignite&sslMode=require"
                + "&sslClientCertificateKeyStoreUrl=" + keys + "&sslClientCertificateKeyStoreType=PKCS12"
                + "&sslClientCertificateKeyStorePassword=" + PASSWORD
                + "&sslTrustCertificateKeyStoreUrl=" + trust + "&sslTrustCertificateKeyStoreType=PKCS12"
                + "&sslTrustCertificateKeyStorePassword=" + PASSWORD;
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM MOONCAKE.PREFIXES")) {
            rows.next();
            return rows.getInt(1);
        } catch (SQLException e) {
            // The table comes some moments after the activation.
            return -1;
        }
    }

    private static ClientConfiguration thin(int port, Path keys, Path trust) {
        return new ClientConfiguration()
                .setAddresses("127.0.0.1:" + port)
                .setUserName("ignite")
                .setSslMode(SslMode.REQUIRED)
                .setSslProtocol(SslProtocol.TLS)
                .setSslClientCertificateKeyStorePath(keys.toString())
                .setSslClientCertificateKeyStorePassword(PASSWORD)
                .setSslClientCertificateKeyStoreType("PKCS12")
                .setSslTrustCertificateKeyStorePath(trust.toString())
                .setSslTrustCertificateKeyStorePassword(PASSWORD)
                .setSslTrustCertificateKeyStoreType("PKCS12");
    }

    private static SslContextFactory ssl(Path keys, Path trust) {
        SslContextFactory factory = new SslContextFactory();
        factory.setKeyStoreType("PKCS12");
        factory.setKeyStoreFilePath(keys.toString());
        factory.setKeyStorePassword(PASSWORD.toCharArray());
        factory.setTrustStoreType("PKCS12");
        factory.setTrustStoreFilePath(trust.toString());
        factory.setTrustStorePassword(PASSWORD.toCharArray());
        return factory;
    }

    /** The commands of the README beside the file. */
    private Path store(String name) throws Exception {
        Path store = folder.resolve(name + ".p12");
        keytool(
                "-genkeypair",
                "-alias",
                name,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-validity",
                "30",
                "-dname",
                "CN=" + name,
                "-ext",
                "SAN=ip:127.0.0.1,dns:localhost",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD);
        return store;
    }

    private Path trust(Path keys) throws Exception {
        Path certificate = folder.resolve("server.cer");
        Path trust = folder.resolve("trust.p12");
        keytool(
                "-exportcert",
                "-alias",
                "server",
                "-file",
                certificate.toString(),
                "-keystore",
                keys.toString(),
                "-storepass",
                PASSWORD);
        keytool(
                "-importcert",
                "-noprompt",
                "-alias",
                "server",
                "-file",
                certificate.toString(),
                "-storetype",
                "PKCS12",
                "-keystore",
                trust.toString(),
                "-storepass",
                PASSWORD);
        return trust;
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
    }
}
