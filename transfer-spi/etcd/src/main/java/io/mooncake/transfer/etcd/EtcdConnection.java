// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdException;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One client of etcd, with every call bounded in time and every error turned into an {@link EtcdFailure}.
 *
 * <p>jetcd's own retries are off, and calls do not wait for a connection: a call that was given up must not take effect much later. A connection that
 * does not get well is thrown away and made anew, because gRPC's pauses between its attempts grow to minutes and cannot be cut short
 * through jetcd.
 *
 * <p>Threading: the calls are made by the store's thread alone.
 */
final class EtcdConnection implements AutoCloseable {
    private static final Duration CALL_TIMEOUT = Duration.ofSeconds(3);
    private static final int PAGE_RECORDS = 128;
    private static final int MAX_MESSAGE_BYTES = 16 << 20;

    private final Client client;

    EtcdConnection(EtcdSettings settings, ExecutorService executor) {
        ClientBuilder builder = Client.builder()
                .endpoints(settings.endpoints())
                .executorService(executor)
                // jetcd closes it with the client. One event loop is plenty for a few calls a second.
                .vertx(Vertx.vertx(new VertxOptions()
                        .setEventLoopPoolSize(1)
                        .setWorkerPoolSize(1)
                        .setInternalBlockingPoolSize(1)
                        .setUseDaemonThread(true)))
                .waitForReady(false)
                .retryMaxAttempts(0)
                .connectTimeout(CALL_TIMEOUT)
                .keepaliveTime(Duration.ofSeconds(10))
                .keepaliveTimeout(Duration.ofSeconds(3))
                .maxInboundMessageSize(MAX_MESSAGE_BYTES);
        if (!settings.user().isEmpty()) {
            builder.user(bytes(settings.user())).password(bytes(settings.password()));
        }
        client = builder.build();
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    /** Takes a lease of at least {@code seconds}. */
    long grant(long seconds) throws EtcdFailure, InterruptedException {
        return call("grant", client.getLeaseClient().grant(seconds)).getID();
    }

    void keepAlive(long lease) throws EtcdFailure, InterruptedException {
        call("keep-alive", client.getLeaseClient().keepAliveOnce(lease));
    }

    void revoke(long lease) throws EtcdFailure, InterruptedException {
        call("revoke", client.getLeaseClient().revoke(lease));
    }

    TxnResponse transact(List<Cmp> conditions, List<Op> then, List<Op> otherwise)
            throws EtcdFailure, InterruptedException {
        return call(
                "transaction",
                client.getKVClient()
                        .txn()
                        .If(conditions.toArray(Cmp[]::new))
                        .Then(then.toArray(Op[]::new))
                        .Else(otherwise.toArray(Op[]::new))
                        .commit());
    }

    /**
     * Everything under a prefix, as it was at one revision.
     *
     * @param revision that revision
     */
    record Listing(long revision, List<KeyValue> records) {}

    Listing list(ByteSequence prefix) throws EtcdFailure, InterruptedException {
        ByteSequence from = prefix;
        ByteSequence end = io.etcd.jetcd.options.OptionsUtil.prefixEndOf(prefix);
        List<KeyValue> records = new ArrayList<>();
        long revision = 0;
        while (true) {
            GetResponse page = call(
                    "list",
                    client.getKVClient()
                            .get(
                                    from,
                                    GetOption.builder()
                                            .withRange(end)
                                            .withLimit(PAGE_RECORDS)
                                            .withRevision(revision)
                                            .build()));
            revision = revision == 0 ? page.getHeader().getRevision() : revision;
            records.addAll(page.getKvs());
            if (!page.isMore() || page.getKvs().isEmpty()) {
                return new Listing(revision, records);
            }
            from = records.get(records.size() - 1).getKey().concat(ByteSequence.from(new byte[1]));
        }
    }

    /** Follows a prefix from {@code revision} on. The listener is called on jetcd's threads, one call at a time. */
    Watch.Watcher watch(ByteSequence prefix, long revision, Watch.Listener listener) {
        return client.getWatchClient()
                .watch(
                        prefix,
                        WatchOption.builder()
                                .isPrefix(true)
                                .withRevision(revision)
                                .withProgressNotify(true)
                                .withCreateNotify(true)
                                .withRequireLeader(true)
                                .build(),
                        listener);
    }

    private static <T> T call(String what, CompletableFuture<T> future) throws EtcdFailure, InterruptedException {
        try {
            return future.get(CALL_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new EtcdFailure(kind(cause), what + ": " + cause.getMessage(), cause);
        } catch (TimeoutException e) {
            future.cancel(true);
            throw new EtcdFailure(
                    EtcdFailure.Kind.UNAVAILABLE, what + ": no answer within " + CALL_TIMEOUT.toMillis() + " ms", e);
        } catch (InterruptedException e) {
            future.cancel(true);
            throw e;
        }
    }

    private static EtcdFailure.Kind kind(Throwable error) {
        String text = String.valueOf(error.getMessage());
        if (text.contains("requested lease not found")) {
            return EtcdFailure.Kind.LEASE_LOST;
        }
        boolean refused = error instanceof EtcdException etcd
                && (etcd.getErrorCode() == ErrorCode.UNAUTHENTICATED
                        || etcd.getErrorCode() == ErrorCode.PERMISSION_DENIED);
        return refused || text.contains("auth token") || text.contains("revision of auth store")
                ? EtcdFailure.Kind.UNAUTHENTICATED
                : EtcdFailure.Kind.UNAVAILABLE;
    }

    @Override
    public void close() {
        client.close();
    }
}
