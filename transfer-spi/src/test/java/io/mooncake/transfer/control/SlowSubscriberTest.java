// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.tcp.PeerChannel;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** A member that subscribes and never reads what it gets. */
final class SlowSubscriberTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final int EVENT_BYTES = 64 << 10;
    private static final int END_BYTES = 2;

    @Test
    void publish_subscriberNeverReads_isBoundedAndOthersHear() throws Exception {
        int events = Boolean.getBoolean("mooncake.long") ? 20_000 : 3000;
        try (TransferEngine publisher = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
                TransferEngine good = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
                PeerSockets sockets =
                        new PeerSockets(ClusterKey.ofSecret(SECRET), UUID.randomUUID(), true, new Counters());
                PeerChannel deaf = subscribe(sockets, publisher)) {
            AtomicLong heard = new AtomicLong();
            AtomicBoolean atTheEnd = new AtomicBoolean();
            try (ControlPlane.Subscription subscription = good.control()
                    .subscribe(publisher.address(), "t", payload -> {
                        heard.incrementAndGet();
                        atTheEnd.compareAndSet(false, payload.length == END_BYTES);
                    })) {
                awaitHeard(publisher, heard, 0);
                long before = heapBytes();
                for (int i = 0; i < events; i++) {
                    publisher.control().publish("t", new byte[EVENT_BYTES]);
                    if (i % 20 == 0) {
                        LockSupport.parkNanos(2_000_000);
                    }
                }
                // What comes last is heard last: nothing of the good one waits in a queue any more.
                long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                while (!atTheEnd.get()) {
                    assertThat(System.nanoTime()).isLessThan(until);
                    publisher.control().publish("t", new byte[END_BYTES]);
                    LockSupport.parkNanos(5_000_000);
                }
                // 512 events are 32 MiB; three thousand would be 188.
                assertThat(heapBytes() - before).isLessThan(96L << 20);
                assertThat(deaf.isOpen()).isTrue();
                assertThat(subscription).isNotNull();
            }
        }
    }

    private static void awaitHeard(TransferEngine publisher, AtomicLong heard, long beyond) {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (heard.get() <= beyond) {
            assertThat(System.nanoTime()).isLessThan(until);
            publisher.control().publish("t", new byte[1]);
            LockSupport.parkNanos(5_000_000);
        }
    }

    private static long heapBytes() throws InterruptedException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(30);
            Runtime runtime = Runtime.getRuntime();
            least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
        }
        return least;
    }

    /** ZMTP 3.0 by hand: greeting, READY, a subscription. */
    private static PeerChannel subscribe(PeerSockets sockets, TransferEngine publisher) throws IOException {
        PeerChannel channel = sockets.connect(publisher.address(), Plane.EVENT, System.nanoTime() + 5_000_000_000L);
        ByteBuffer to = ByteBuffer.allocate(256);
        to.put((byte) 0xff).put(new byte[8]).put((byte) 0x7f).put((byte) 3).put((byte) 0);
        to.put(text("NULL")).put(new byte[16]).put(new byte[32]);
        byte[] ready = concat("\u0005READY\u000bSocket-Type\u0000\u0000\u0000\u0003SUB");
        to.put((byte) 4).put((byte) ready.length).put(ready);
        byte[] topic = concat("\u0001t\u0000");
        to.put((byte) 0).put((byte) topic.length).put(topic).flip();
        while (to.hasRemaining()) {
            channel.write(to);
        }
        return channel;
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] concat(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }
}
