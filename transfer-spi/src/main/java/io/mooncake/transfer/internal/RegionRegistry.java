// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RegionGuard;
import io.mooncake.transfer.RegisteredRegion;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The regions of one engine. They are few (a pool registers one), so look-up scans an array that writers replace; readers take no lock and
 * allocate nothing.
 */
public final class RegionRegistry {
    /** Regions at a time. */
    public static final int MAX_REGIONS = 1024;

    private static final long GRACE_NANOS = 1_000_000_000L;
    private static final long FOREVER_NANOS = Long.MAX_VALUE / 4;

    private final WritesUnderWay writes = new WritesUnderWay();
    private volatile Region[] regions = new Region[0];
    // Guarded by this: no longer registered, perhaps still touched.
    private final List<Region> ending = new ArrayList<>();
    private int lastId;

    /** What threads of this process write into the regions now, other than over a network. */
    public WritesUnderWay writes() {
        return writes;
    }

    /** Registers memory of the host; the id is unique in this engine's life. */
    public Region register(long address, long length, RegionGuard guard) {
        return register(address, length, guard, null);
    }

    /** Registers memory, of a device where that is not null; the id is unique in this engine's life. */
    public synchronized Region register(long address, long length, RegionGuard guard, @Nullable DeviceMemory device) {
        if (address <= 0 || length < 1 || address + length < 0) {
            throw MooncakeException.invalid("region", address + "+" + length, "an address and at least 1 byte");
        }
        Region[] now = regions;
        if (now.length == MAX_REGIONS) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED,
                    "regions: " + now.length + " (expected: below " + MAX_REGIONS + ")");
        }
        Region region = new Region(++lastId, address, length, guard, device);
        Region[] next = Arrays.copyOf(now, now.length + 1);
        next[now.length] = region;
        regions = next;
        return region;
    }

    /** The region of that id, or null. */
    public @Nullable Region find(int id) {
        for (Region region : regions) {
            if (region.id() == id) {
                return region;
            }
        }
        return null;
    }

    /** Acquires the region that holds {@code length} bytes at {@code address}, or null. The caller owes a release. */
    public @Nullable Region acquireAt(long address, long length) {
        for (Region region : regions) {
            if (region.containsAddress(address, length) && region.acquire()) {
                return region;
            }
        }
        return null;
    }

    /** The region that holds {@code length} bytes at {@code address}, or null; who asks holds it already. */
    public @Nullable Region findAt(long address, long length) {
        for (Region region : regions) {
            if (region.containsAddress(address, length)) {
                return region;
            }
        }
        return null;
    }

    /**
     * Ends a registration and returns when nothing uses the memory any more. Transfers in flight get a second; then {@code cut} closes
     * their connections.
     */
    public void unregister(int id, java.util.function.Consumer<Region> cut) {
        Region region;
        synchronized (this) {
            region = find(id);
            if (region == null) {
                // Whoever comes second waits as well.
                region = ending.stream()
                        .filter(one -> one.id() == id)
                        .findFirst()
                        .orElse(null);
                if (region == null) {
                    return;
                }
            } else {
                Region gone = region;
                region.end();
                ending.add(region);
                regions = Arrays.stream(regions).filter(r -> r != gone).toArray(Region[]::new);
            }
        }
        if (!region.awaitQuiet(GRACE_NANOS)) {
            cut.accept(region);
            region.awaitQuiet(FOREVER_NANOS);
        }
        synchronized (this) {
            ending.remove(region);
        }
    }

    /** What is registered now. */
    public List<RegisteredRegion> registered() {
        return Arrays.stream(regions)
                .map(one -> new RegisteredRegion(one.id(), one.length(), one.device() != null, one.users()))
                .toList();
    }

    /** All of them now, those that are ending too. */
    public synchronized Region[] all() {
        return Stream.concat(Arrays.stream(regions), ending.stream()).toArray(Region[]::new);
    }
}
