// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The contract over TCP. */
final class TcpTransferTest extends TransferContract {
    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @Test
    void lease_replyIsFull_theRestIsDeferredAndComesWhenAskedAgain() {
        // A checksum for every four bytes makes a megabyte of them each.
        for (int key = 0; key < 6; key++) {
            leases.put(key, key << 20, 1 << 20, 4);
        }
        try (RemoteLease first = lease(99, 0, 1, 2, 3, 4, 5)) {
            assertThat(first.element(0)).isNull();
            assertThat(first.deferred(0)).isFalse();
            for (int i = 1; i <= 6; i++) {
                assertThat(first.element(i) == null).isEqualTo(i > 3);
                assertThat(first.deferred(i)).isEqualTo(i > 3);
            }
        }
        try (RemoteLease rest = lease(3, 4, 5)) {
            assertThat(rest.element(2)).isNotNull();
            assertThat(rest.deferred(2)).isFalse();
        }
        await(() -> leases.pinned.get() == 0);
    }
}
