// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this engine shares: its page, made with the first region, and its word on handles. Control plane: it may allocate and log.
 */
final class ShmOwner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ShmOwner.class);

    private final UUID incarnation;
    private final RegionRegistry regions;
    private final Capabilities capabilities;
    private final AccessCheck check;
    private final PeerConduct conduct;
    private volatile @Nullable SharedPage page;
    private boolean closed;

    ShmOwner(
            UUID incarnation,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            PeerConduct conduct) {
        this.incarnation = incarnation;
        this.regions = regions;
        this.capabilities = capabilities;
        this.check = new AccessCheck(checks);
        this.conduct = conduct;
    }

    /** Whether peers may map something. */
    boolean sharing() {
        return page != null;
    }

    /** Shows a region to peers; where that can't be, it stays reachable by TCP and the log says why. */
    synchronized void share(Region region, SharedFile backing) {
        if (closed) {
            return;
        }
        try {
            SharedPage shown = page;
            if (shown == null) {
                shown = new SharedPage(
                        Objects.requireNonNull(backing.path().toAbsolutePath().getParent()), incarnation);
                page = shown;
            }
            shown.publish(region.id(), region.address() - backing.address(), region.length(), backing);
        } catch (MooncakeException e) {
            LOG.warn("Region {} is not shared, peers of this machine read it by TCP: {}", region.id(), e.getMessage());
        }
    }

    void retract(int region) {
        SharedPage shown = page;
        if (shown != null) {
            shown.retract(region);
        }
    }

    /** A peer is gone: what it copies from now on counts for nothing. */
    void revoke() {
        SharedPage shown = page;
        if (shown != null) {
            shown.revoke();
        }
    }

    /** The page, or null while nothing is shared. */
    @Nullable
    SharedPage shown() {
        return page;
    }

    /** Whether the page shows the region. */
    boolean shares(int region) {
        SharedPage shown = page;
        return shown != null && shown.shows(region);
    }

    /**
     * Where the page is. Ask whether the peer is gone after this, so that a later end of it shows in the count.
     *
     * @param mailbox the peer's, or -1
     */
    ShmFrameDescriptor.@Nullable Page page(int mailbox) {
        SharedPage shown = page;
        return shown == null
                ? null
                : new ShmFrameDescriptor.Page(
                        shown.file().device(),
                        shown.file().inode(),
                        shown.revocations(),
                        mailbox,
                        sha256(shown.token()),
                        shown.file().path().toString());
    }

    /** Whether somebody read our token back. */
    boolean isToken(byte[] token) {
        SharedPage shown = page;
        return shown != null && MessageDigest.isEqual(token, shown.token());
    }

    /** Verifies handles for their holder. What is refused goes by TCP, whose answer says why and is counted. */
    byte[] open(UUID holder, byte[] payload) {
        if (conduct.keptOut(holder)) {
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, holder + " was refused too often");
        }
        List<RemoteHandle> handles = ShmFrameDescriptor.decodeOpen(payload);
        Capabilities.Verifier verifier = capabilities.verifier();
        List<ShmFrameDescriptor.Opened> opened = new ArrayList<>(handles.size());
        for (RemoteHandle handle : handles) {
            opened.add(new ShmFrameDescriptor.Opened(
                    generationOffset(holder, handle, verifier), handle.expiresAtNanos() - System.nanoTime()));
        }
        return ShmFrameDescriptor.encodeOpened(opened);
    }

    private long generationOffset(UUID holder, RemoteHandle handle, Capabilities.Verifier verifier) {
        Region region = regions.find(handle.region());
        Claim claim = new Claim().of(handle, false, 0, handle.length());
        // Looks at no byte of the region, so it need not be held.
        RefusalCause cause = region == null ? RefusalCause.REGION : check.before(verifier, holder, region, claim);
        // The same request goes by TCP next, where what honest peers meet too is counted.
        if (cause != null && cause.serious() && !conduct.behaves(holder, cause)) {
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, holder + " was refused too often");
        }
        return region != null && cause == null
                ? region.generationOffset(handle.offset(), handle.length())
                : PublishedGuard.NOWHERE;
    }

    static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 (expected: in every Java)", e);
        }
    }

    static byte[] sha256(String text) {
        return sha256(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public synchronized void close() {
        closed = true;
        SharedPage shown = page;
        page = null;
        if (shown != null) {
            shown.close();
        }
    }
}
