// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Mutual TLS between engines: both ends show a certificate that the other's trust store vouches for. It comes besides the cluster's secret,
 * not instead of it, and costs a copy and a cipher on each side.
 *
 * @param keyStore PKCS 12 file with this engine's key and certificate
 * @param keyStorePassword its password
 * @param trustStore PKCS 12 file with the certificates that are believed
 * @param trustStorePassword its password
 */
public record TlsConfig(Path keyStore, String keyStorePassword, Path trustStore, String trustStorePassword) {
    public TlsConfig {
        List<String> wrong = new ArrayList<>();
        if (!Files.isReadable(keyStore)) {
            wrong.add("keyStore: " + keyStore + " (expected: a readable PKCS 12 file)");
        }
        if (!Files.isReadable(trustStore)) {
            wrong.add("trustStore: " + trustStore + " (expected: a readable PKCS 12 file)");
        }
        if (!wrong.isEmpty()) {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, String.join("; ", wrong));
        }
    }

    /** Without the passwords. */
    @Override
    public String toString() {
        return "TlsConfig[" + keyStore + ", " + trustStore + "]";
    }
}
