// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** The contract over TCP. */
final class TcpTransferTest extends TransferContract {
    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }
}
