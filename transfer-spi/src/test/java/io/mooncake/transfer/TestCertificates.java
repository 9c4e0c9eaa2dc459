// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;

/** Keys and certificates, made by the JDK's keytool when they are first asked for. */
final class TestCertificates {
    static final String PASSWORD = "password of the test";
    private static final TestCertificates INSTANCE = new TestCertificates();

    private final Path folder;
    /** Signed by the authority that all trust. */
    final TlsConfig good;
    /** Signed by the same authority; its validity has ended. */
    final TlsConfig expired;
    /** Of another authority, and trusting that one only. */
    final TlsConfig foreign;
    /** Signed by another authority, but trusting ours. */
    final TlsConfig impostor;

    static TestCertificates get() {
        return INSTANCE;
    }

    private TestCertificates() {
        try {
            folder = Files.createTempDirectory("tls");
            Path all = folder.resolve("all.p12");
            for (String authority : new String[] {"ca", "otherca"}) {
                keytool(all, authority, "-ext", "bc:c", "-validity", "30");
            }
            keytool(all, "node", "-signer", "ca", "-validity", "30");
            keytool(all, "old", "-signer", "ca", "-startdate", "-10d", "-validity", "5");
            keytool(all, "alien", "-signer", "otherca", "-validity", "30");
            KeyStore made = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(all)) {
                made.load(in, PASSWORD.toCharArray());
            }
            Path ours = trusting(made, "ca");
            Path theirs = trusting(made, "otherca");
            good = new TlsConfig(key(made, "node"), PASSWORD, ours, PASSWORD);
            expired = new TlsConfig(key(made, "old"), PASSWORD, ours, PASSWORD);
            Path alien = key(made, "alien");
            foreign = new TlsConfig(alien, PASSWORD, theirs, PASSWORD);
            impostor = new TlsConfig(alien, PASSWORD, ours, PASSWORD);
            folder.toFile().deleteOnExit();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void keytool(Path store, String name, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD,
                "-alias",
                name,
                "-dname",
                "CN=" + name));
        command.addAll(List.of(more));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException("keytool " + name + ": " + said);
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    private Path key(KeyStore from, String name) throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        store.setKeyEntry(
                name,
                from.getKey(name, PASSWORD.toCharArray()),
                PASSWORD.toCharArray(),
                from.getCertificateChain(name));
        return save(store, name + "-key.p12");
    }

    private Path trusting(KeyStore from, String name) throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        store.setCertificateEntry(name, from.getCertificate(name));
        return save(store, name + "-trust.p12");
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private Path save(KeyStore store, String name) throws GeneralSecurityException, IOException {
        Path file = folder.resolve(name);
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, PASSWORD.toCharArray());
        }
        file.toFile().deleteOnExit();
        return file;
    }
}
