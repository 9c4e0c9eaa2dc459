// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract on ::1, all three planes. */
final class Ipv6TransferTest extends TransferContract {
    @BeforeAll
    static void requireIpv6() {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByName("::1"))) {
            assertThat(probe.isBound()).isTrue();
        } catch (IOException e) {
            System.err.println("SKIPPED: Ipv6TransferTest: this machine has no ::1 (" + e.getMessage() + ")");
            Assumptions.abort("no ::1: " + e.getMessage());
        }
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("::1", SECRET));
    }

    @Test
    void address_textForm_isBracketedAndComesBack() {
        String text = owner.address().encode();
        assertThat(text).contains("@[::1]/");
        assertThat(PeerAddress.parse(text)).isEqualTo(owner.address());
    }

    @Test
    void publish_subscriberOnIpv6_hears() {
        AtomicInteger heard = new AtomicInteger();
        try (ControlPlane.Subscription subscription =
                reader.control().subscribe(owner.address(), "t", payload -> heard.incrementAndGet())) {
            await(() -> {
                owner.control().publish("t", ByteBuffer.allocate(4).array());
                return heard.get() > 0;
            });
            assertThat(subscription).isNotNull();
        }
    }
}
