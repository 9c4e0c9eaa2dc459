// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** The contract over TLS on all three planes. */
final class TlsTransferTest extends TransferContract {
    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", SECRET)
                .tls(TestCertificates.get().good)
                .build());
    }
}
