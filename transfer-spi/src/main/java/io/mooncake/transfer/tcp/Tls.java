// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TlsConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.Date;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Mutual TLS of an engine: one context, read once at the start. Both sides must show a certificate that the other's trust store vouches
 * for. Host names are not compared: the peers of an engine are named by their incarnations, which the keyed handshake proves inside of TLS.
 */
final class Tls {
    private static final Logger LOG = LoggerFactory.getLogger(Tls.class);
    private static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

    private final SSLContext context;

    /** @throws MooncakeException CONFIGURATION when the stores cannot be used */
    Tls(TlsConfig config) {
        try {
            KeyStore keys = load("keyStore", config.keyStore(), config.keyStorePassword());
            KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            own.init(keys, config.keyStorePassword().toCharArray());
            TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trusted.init(load("trustStore", config.trustStore(), config.trustStorePassword()));
            context = SSLContext.getInstance("TLS");
            context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
            warnOfExpired(keys, config.keyStore());
        } catch (GeneralSecurityException e) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, "TLS: " + e.getMessage(), e);
        }
    }

    private static KeyStore load(String what, Path file, String password) throws GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, password.toCharArray());
            if (store.size() == 0) {
                throw new MooncakeException(
                        MooncakeException.Code.CONFIGURATION, what + ": " + file + " is empty (expected: an entry)");
            }
            return store;
        } catch (IOException e) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    what + ": " + file + " (expected: a PKCS 12 file of this password): " + e.getMessage(),
                    e);
        }
    }

    private static void warnOfExpired(KeyStore keys, Path file) throws GeneralSecurityException {
        for (String alias : Collections.list(keys.aliases())) {
            if (keys.getCertificate(alias) instanceof X509Certificate own
                    && own.getNotAfter().before(new Date())) {
                LOG.warn(
                        "The certificate {} in {} has expired on {}: peers will refuse it",
                        alias,
                        file,
                        own.getNotAfter());
            }
        }
    }

    /** The side that asked for the connection; {@link TlsChannel#handshake} is still to be done. */
    TlsChannel connecting(SocketChannel socket) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(true);
        return channel(socket, engine);
    }

    /** The side that was asked. */
    TlsChannel accepting(SocketChannel socket) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(false);
        engine.setNeedClientAuth(true);
        return channel(socket, engine);
    }

    private static TlsChannel channel(SocketChannel socket, SSLEngine engine) {
        engine.setEnabledProtocols(PROTOCOLS);
        return new TlsChannel(socket, engine);
    }
}
