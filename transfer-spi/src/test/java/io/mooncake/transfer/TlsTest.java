// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static io.mooncake.transfer.TransferContract.SECRET;
import static io.mooncake.transfer.TransferContract.await;
import static io.mooncake.transfer.TransferContract.soon;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Who may speak with an engine that has TLS, and with one that has none. */
final class TlsTest {
    private final TestCertificates certificates = TestCertificates.get();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final Memory memory = new Memory(1 << 20);
    private final Memory target = new Memory(1 << 20);

    @BeforeEach
    void listen() {
        log.start();
        ((Logger) LoggerFactory.getLogger("io.mooncake.transfer.tcp.PeerSockets")).addAppender(log);
    }

    @AfterEach
    void stop() {
        ((Logger) LoggerFactory.getLogger("io.mooncake.transfer.tcp.PeerSockets")).detachAppender(log);
        memory.close();
        target.close();
    }

    private static TransferEngine start(@Nullable TlsConfig tls) {
        return TransferEngine.start(
                TransferEngineConfig.builder("127.0.0.1", SECRET).tls(tls).build());
    }

    private TransferStatus read(TransferEngine owner, TransferEngine reader) {
        int region = owner.registerMemory(memory.address, memory.length, memory.guard());
        int local = reader.registerMemory(target.address, target.length, target.guard());
        try {
            RemoteHandle handle =
                    owner.issueHandle(reader.incarnation(), region, 1, 0, 100_000, false, Duration.ofSeconds(20));
            return reader.batchTransferSyncRead(
                            owner.address(),
                            new long[] {target.address},
                            new RemoteHandle[] {handle},
                            new long[] {100_000},
                            soon())[0];
        } finally {
            owner.unregisterMemory(region);
            reader.unregisterMemory(local);
        }
    }

    private static byte[] ask(TransferEngine from, TransferEngine of) {
        return from.control()
                .request(of.address(), "ping", new byte[] {7}, soon())
                .toCompletableFuture()
                .join();
    }

    /** What the owner's log says; its reasons are those of the JDK. */
    private void assertRefused(@Nullable TlsConfig owners, @Nullable TlsConfig strangers, String... reasons) {
        try (TransferEngine owner = start(owners);
                TransferEngine good = start(owners);
                TransferEngine stranger = start(strangers)) {
            owner.control().handle("ping", (from, payload) -> payload);
            memory.fill(1, 0, 100_000);
            assertThat(read(owner, good)).isEqualTo(TransferStatus.COMPLETED);
            long before = System.nanoTime();
            assertThat(read(owner, stranger)).isEqualTo(TransferStatus.REFUSED);
            assertThatThrownBy(() -> ask(stranger, owner))
                    .isInstanceOf(CompletionException.class)
                    .extracting(Throwable::getCause)
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.PEER_REFUSED);
            assertThat(System.nanoTime() - before).isLessThan(19_000_000_000L);
            await(() -> owner.statistics().authenticationFailures() >= 2);
            await(() -> log.list.stream()
                    .map(ILoggingEvent::getFormattedMessage)
                    .anyMatch(line -> List.of(reasons).stream().anyMatch(line::contains)));
            assertThat(log.list).allMatch(event -> event.getThrowableProxy() == null);
            assertThat(ask(good, owner)).containsExactly(7);
            assertThat(read(owner, good)).isEqualTo(TransferStatus.COMPLETED);
            assertThat(target.firstDifference(1, 0, 100_000)).isEqualTo(-1);
        }
    }

    @Test
    void peer_ofAnotherAuthority_isRefused() {
        assertRefused(
                certificates.good,
                certificates.impostor,
                "Empty client certificate chain",
                "unable to find valid certification path");
    }

    @Test
    void peer_trustingAnotherAuthority_refusesUsAndWeSaySo() {
        assertRefused(certificates.good, certificates.foreign, "certificate_unknown", "unknown_ca");
    }

    @Test
    void peer_withExpiredCertificate_isRefused() {
        assertRefused(certificates.good, certificates.expired, "NotAfter", "validity check failed");
    }

    @Test
    void peer_withoutTls_isRefused() {
        assertRefused(certificates.good, null, "no TLS");
    }

    @Test
    void peer_withTlsWhereThereIsNone_isRefused() {
        assertRefused(null, certificates.good, "this engine speaks none");
    }

    @Test
    void publish_overTls_isHeard() {
        try (TransferEngine publisher = start(certificates.good);
                TransferEngine listener = start(certificates.good)) {
            AtomicInteger heard = new AtomicInteger();
            try (ControlPlane.Subscription subscription = listener.control()
                    .subscribe(publisher.address(), "t", payload -> heard.addAndGet(payload.length))) {
                await(() -> {
                    publisher
                            .control()
                            .publish("t", ByteBuffer.allocate(100_000).array());
                    return heard.get() >= 1_000_000;
                });
                assertThat(subscription).isNotNull();
            }
        }
    }

    @Test
    void start_wrongPasswordOrEmptyStore_namesTheFile() {
        TlsConfig good = certificates.good;
        TlsConfig wrong = new TlsConfig(good.keyStore(), "guess", good.trustStore(), good.trustStorePassword());
        assertThatThrownBy(() -> start(wrong))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining(good.keyStore().toString())
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CONFIGURATION);
        assertThat(good.toString()).doesNotContain(TestCertificates.PASSWORD);
    }
}
