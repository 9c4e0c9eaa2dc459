// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of peers' hosts. A resolver may take any time, so it is asked on threads of its own, once at a time for each name; who waits
 * does so until its own deadline. An address that was found is used for {@value #FRESH_SECONDS} s, and after that while the resolver is
 * asked again: whoever answers there still has to prove who it is.
 *
 * <p>Threading: safe for all threads. Literal addresses need none of this.
 */
final class HostAddresses implements AutoCloseable {
    /** Names that are remembered. */
    static final int MAX_NAMES = 4096;

    /** Names that are asked for at a time. */
    static final int MAX_QUESTIONS = 64;

    private static final int FRESH_SECONDS = 30;
    private static final long LOOK_NANOS = 50_000_000L;
    private static final Pattern LITERAL = Pattern.compile("(\\d{1,3}\\.){3}\\d{1,3}|.*:.*");

    /** Asks the resolver, for as long as that takes. */
    @FunctionalInterface
    interface Resolver {
        InetAddress resolve(String host) throws UnknownHostException;
    }

    private record Known(InetAddress address, long atNanos) {}

    private final Resolver resolver;
    private final ThreadPoolExecutor threads;
    private final ConcurrentHashMap<String, Known> known = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<String, FutureTask<InetAddress>> asked = new ConcurrentHashMap<>();

    HostAddresses(Resolver resolver) {
        this.resolver = resolver;
        this.threads =
                new ThreadPoolExecutor(0, MAX_QUESTIONS, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
                    Thread thread = new Thread(task, "mooncake-resolve");
                    thread.setDaemon(true);
                    return thread;
                });
    }

    /**
     * The host's address.
     *
     * @param abandoned whether the caller is not interested any more
     * @throws HandshakeException TIMEOUT at the deadline, CANCELED when interrupted, else PEER_UNREACHABLE
     */
    InetAddress address(String host, long deadlineNanos, BooleanSupplier abandoned) throws HandshakeException {
        if (LITERAL.matcher(host).matches()) {
            return literal(host);
        }
        Known before = known.get(host);
        if (before != null && System.nanoTime() - before.atNanos < FRESH_SECONDS * 1_000_000_000L) {
            return before.address;
        }
        FutureTask<InetAddress> question = ask(host);
        if (before != null) {
            return before.address;
        }
        if (question == null) {
            throw unreachable(host, "too many names are being resolved");
        }
        return await(host, question, deadlineNanos, abandoned);
    }

    private static InetAddress literal(String host) throws HandshakeException {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw unreachable(host, e.toString());
        }
    }

    /** The question for that host, one that others ask already perhaps; null where no more can be asked. */
    private @Nullable FutureTask<InetAddress> ask(String host) {
        FutureTask<InetAddress> mine = new FutureTask<>(() -> resolve(host));
        FutureTask<InetAddress> earlier = asked.putIfAbsent(host, mine);
        if (earlier != null) {
            return earlier;
        }
        try {
            threads.execute(() -> {
                try {
                    mine.run();
                } finally {
                    asked.remove(host, mine);
                }
            });
            return mine;
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            asked.remove(host, mine);
            // Others may wait for it already.
            mine.cancel(false);
            return null;
        }
    }

    private InetAddress resolve(String host) throws UnknownHostException {
        InetAddress found = resolver.resolve(host);
        if (known.size() >= MAX_NAMES) {
            known.clear();
        }
        known.put(host, new Known(found, System.nanoTime()));
        return found;
    }

    private static InetAddress await(
            String host, FutureTask<InetAddress> question, long deadlineNanos, BooleanSupplier abandoned)
            throws HandshakeException {
        while (true) {
            if (abandoned.getAsBoolean()) {
                throw unreachable(host, "not asked for any more");
            }
            long left = deadlineNanos - System.nanoTime();
            if (left <= 0 && !question.isDone()) {
                throw new HandshakeException(TransferStatus.TIMEOUT, host + ": no address by the deadline");
            }
            try {
                return question.get(Math.max(1, Math.min(left, LOOK_NANOS)), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                // Looks again whether it is still wanted.
                continue;
            } catch (ExecutionException e) {
                throw unreachable(host, String.valueOf(e.getCause()));
            } catch (CancellationException e) {
                throw unreachable(host, "too many names are being resolved");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HandshakeException(TransferStatus.CANCELED, "interrupted");
            }
        }
    }

    private static HandshakeException unreachable(String host, String why) {
        return new HandshakeException(TransferStatus.PEER_UNREACHABLE, host + ": " + why);
    }

    /** Nobody is asked any more; a resolver at work is left alone. */
    @Override
    public void close() {
        threads.shutdown();
    }
}
