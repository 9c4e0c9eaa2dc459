// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.tcp.GonePeers;
import java.security.MessageDigest;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out which peers share memory with this engine, and when they stop to. Control plane: it may allocate, log and wait, on threads of
 * its own.
 *
 * <p>Two engines share memory when they name the same kernel and each opens the other's page and reads back what is in it: a boot id alone
 * says nothing about containers with file systems of their own, and an address says nothing at all.
 */
final class Prober implements AutoCloseable {
    static final String ATTACH_SERVICE = "mooncake.shm.attach";
    static final String OPEN_SERVICE = "mooncake.shm.open";

    private static final Logger LOG = LoggerFactory.getLogger(Prober.class);
    private static final long PROBE_MILLIS = 2_000;
    private static final long PROBE_AGAIN_NANOS = 5_000_000_000L;
    private static final long NEVER_NANOS = Long.MAX_VALUE / 4;
    private static final long CHECK_MILLIS = 100;
    private static final long REPLY_GRACE_NANOS = 100_000_000L;
    private static final int MAX_WAITING = 4096;

    private final ControlPlane control;
    private final ShmOwner owner;
    private final IncomingWrites.Services services;
    private final Map<UUID, PeerLink> links;
    private final GonePeers gone;
    private final ThreadPoolExecutor background;
    private final ScheduledThreadPoolExecutor janitor;
    private boolean checking;

    Prober(
            ControlPlane control,
            ShmOwner owner,
            IncomingWrites.Services services,
            Map<UUID, PeerLink> links,
            GonePeers gone) {
        this.services = services;
        this.gone = gone;
        this.control = control;
        this.owner = owner;
        this.links = links;
        this.background = new ThreadPoolExecutor(
                2,
                2,
                5,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(MAX_WAITING),
                task -> daemon(task, "mooncake-probe"));
        background.allowCoreThreadTimeOut(true);
        this.janitor = new ScheduledThreadPoolExecutor(1, task -> daemon(task, "mooncake-shared"));
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Runs soon, or never when too much waits: nothing here is needed for a right answer. */
    void inBackground(Runnable task) {
        try {
            background.execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("Background work for shared memory left out", e);
        }
    }

    /** As {@link #probe}, on a thread of its own; the caller has started the probe. */
    void probeInBackground(PeerAddress peer, PeerLink link) {
        try {
            background.execute(() -> probe(peer, link, Deadline.ofMillis(PROBE_MILLIS)));
        } catch (RejectedExecutionException e) {
            link.probed("too many probes wait", PROBE_AGAIN_NANOS, false);
        }
    }

    /** Asks the peer and maps its page; the caller has started the probe. Never throws. */
    void probe(PeerAddress peer, PeerLink link, Deadline deadline) {
        String reason;
        long again = PROBE_AGAIN_NANOS;
        boolean mapsUs = false;
        try {
            SharedPage shown = owner.shown();
            ShmFrameDescriptor.Page own = owner.page(shown == null ? PeerLink.NO_MAILBOX : link.mailbox(shown));
            requireKnown(peer.incarnation());
            byte[] asked = ShmFrameDescriptor.encodeAttach(new ShmFrameDescriptor.Attach(HostIdentity.own(), own));
            ShmFrameDescriptor.Attached answer =
                    ShmFrameDescriptor.decodeAttached(ask(control, peer, ATTACH_SERVICE, asked, deadline));
            mapsUs = owner.isToken(answer.token());
            if (!sameKernel(answer.bootId())) {
                reason = "another machine: boot id " + answer.bootId() + " (here: " + HostIdentity.own() + ")";
                again = NEVER_NANOS;
            } else if (answer.page() == null) {
                reason = link.attached() ? "" : "the peer shares no memory";
            } else if (mapsUs && link.outdated(answer.page().mailbox())) {
                // What it asks and answers goes by another mailbox now: the next probe starts anew.
                links.remove(peer.incarnation(), link);
                link.end();
                reason = "the peer has begun anew";
                again = 0;
            } else {
                reason = link.attached() ? "" : map(link, answer.page());
                if (mapsUs) {
                    link.bind(answer.page().mailbox(), services);
                }
            }
        } catch (MooncakeException e) {
            reason = String.valueOf(e.getMessage());
        } catch (RuntimeException e) {
            reason = e.toString();
        }
        link.releaseUnboundMailbox();
        if (link.probed(reason, again, mapsUs)) {
            LOG.info("Transfers with {}: {}", peer.encode(), link.report());
        }
    }

    /** Answers a probe. */
    byte[] attach(PeerLink link, ShmFrameDescriptor.Attach asked) {
        byte[] token = new byte[0];
        String reason = "";
        ShmFrameDescriptor.Page page = asked.page();
        SharedPage shown = owner.shown();
        // Before it is asked whether the peer is gone.
        ShmFrameDescriptor.Page own = owner.page(PeerLink.NO_MAILBOX);
        requireKnown(link.peer());
        if (page != null && sameKernel(asked.bootId())) {
            try {
                MappedPage mapped = MappedPage.open(page, link.peer());
                token = mapped.token();
                adopt(link, mapped, page);
                if (shown != null && own != null && SharedPageDescriptor.isMailbox(page.mailbox())) {
                    own = own.withMailbox(link.mailbox(shown));
                    link.bind(page.mailbox(), services);
                }
            } catch (MooncakeException e) {
                reason = String.valueOf(e.getMessage());
            }
        }
        return ShmFrameDescriptor.encodeAttached(
                new ShmFrameDescriptor.Attached(HostIdentity.own(), own, token, reason));
    }

    /** Answers a probe for an engine that maps no memory of peers, but shares its own. */
    byte[] tell(UUID asking) {
        ShmFrameDescriptor.Page own = owner.page(PeerLink.NO_MAILBOX);
        requireKnown(asking);
        return ShmFrameDescriptor.encodeAttached(new ShmFrameDescriptor.Attached(
                HostIdentity.own(), own, new byte[0], "the engine is set to read over the network only"));
    }

    private void requireKnown(UUID peer) {
        if (gone.contains(peer)) {
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, peer + " is gone");
        }
        if (services.conduct().keptOut(peer)) {
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, peer + " was refused too often");
        }
    }

    private static boolean sameKernel(String bootId) {
        return !bootId.isEmpty() && bootId.equals(HostIdentity.own());
    }

    /** Why it can't be mapped; empty when it is. */
    private String map(PeerLink link, ShmFrameDescriptor.Page page) {
        try {
            adopt(link, MappedPage.open(page, link.peer()), page);
            return "";
        } catch (MooncakeException e) {
            return "its memory can't be opened here: " + e.getMessage();
        }
    }

    private void adopt(PeerLink link, MappedPage mapped, ShmFrameDescriptor.Page page) {
        if (!MessageDigest.isEqual(ShmOwner.sha256(mapped.token()), page.tokenHash())) {
            mapped.uses().end();
            throw new MooncakeException(MooncakeException.Code.NOT_FOUND, page.path() + ": the token is another one");
        }
        if (!link.adopt(mapped)) {
            mapped.uses().end();
            return;
        }
        checkFromNowOn();
    }

    private synchronized void checkFromNowOn() {
        if (!checking && !janitor.isShutdown()) {
            checking = true;
            janitor.scheduleWithFixedDelay(this::check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void check() {
        links.forEach((peer, link) -> {
            if (!link.check() && links.remove(peer, link)) {
                link.end();
            }
        });
    }

    /** Asks and waits. */
    static byte[] ask(ControlPlane control, PeerAddress peer, String service, byte[] payload, Deadline deadline) {
        @Nullable Throwable cause;
        try {
            return control.request(peer, service, payload, deadline)
                    .toCompletableFuture()
                    .get(deadline.remainingNanos() + REPLY_GRACE_NANOS, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            cause = e.getCause();
        } catch (TimeoutException e) {
            cause = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            cause = e;
        }
        throw new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, service + ": " + cause, cause);
    }

    @Override
    public synchronized void close() {
        janitor.shutdownNow();
        background.shutdownNow();
    }
}
