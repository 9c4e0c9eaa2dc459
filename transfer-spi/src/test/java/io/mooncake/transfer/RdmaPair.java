// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.OptionalTransport;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaConfig;
import io.mooncake.transfer.rdma.RdmaTransport;
import io.mooncake.transfer.topology.RailNumber;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Two RDMA transports of one process that talk by direct calls, and memory on both sides. What is to happen after a service has answered
 * happens before the answer is seen.
 */
final class RdmaPair implements AutoCloseable {
    private final Map<UUID, Map<String, ControlPlane.RequestHandler>> handlers = new ConcurrentHashMap<>();
    private final Map<String, Runnable> afterwards = new ConcurrentHashMap<>();
    private final Map<String, UnaryOperator<byte[]>> changes = new ConcurrentHashMap<>();
    private final Capabilities capabilities = new Capabilities(new SecureRandom());
    private final RegionRegistry ownerRegions = new RegionRegistry();
    private final RegionRegistry readerRegions = new RegionRegistry();
    private final PeerAddress ownerAddress = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3);
    final UUID readerId = UUID.randomUUID();
    final List<String> asked = new CopyOnWriteArrayList<>();
    final Counters counters = new Counters();
    final Memory theirs;
    final Memory ours;
    final RdmaTransport owner;
    final RdmaTransport reader;
    /** All of the reader's memory. */
    final Region ourRegion;

    private final GpuMemory ownerGpus = new GpuMemory();
    private final GpuMemory readerGpus = new GpuMemory();
    /** Bits of the devices that the reader's memory prefers. */
    volatile int preferred = Region.ANY_RAIL;
    /** Of the latest {@link #move}, by their numbers in the matrix of paths. */
    final long[] railBytes = new long[RailNumber.COUNT];

    RdmaPair(RdmaConfig config, int bytes, int connectionsPerPeer) {
        this(config, new Memory(bytes), new Memory(bytes), connectionsPerPeer);
    }

    /** Over memory of any kind, which closes with this. */
    RdmaPair(RdmaConfig config, Memory theirs, Memory ours, int connectionsPerPeer) {
        this.theirs = theirs;
        this.ours = ours;
        owner = transport(config, ownerAddress.incarnation(), ownerRegions, connectionsPerPeer);
        reader = transport(config, readerId, readerRegions, connectionsPerPeer);
        ourRegion = register(readerGpus, readerRegions, reader, ours, 0, ours.length, ours.guard());
    }

    private static Region register(
            GpuMemory gpus,
            RegionRegistry regions,
            RdmaTransport transport,
            Memory memory,
            int offset,
            int bytes,
            RegionGuard guard) {
        long address = memory.address + offset;
        if (memory instanceof GpuTestMemory device) {
            return gpus.register(
                    address, bytes, device.gpu(), of -> regions.register(address, bytes, guard, of), transport);
        }
        Region region = regions.register(address, bytes, guard);
        transport.register(region);
        return region;
    }

    private RdmaTransport transport(RdmaConfig config, UUID own, RegionRegistry regions, int connectionsPerPeer) {
        return new RdmaTransport(
                config,
                plane(own),
                regions,
                capabilities,
                SafetyChecks.ALL,
                gone -> false,
                new PeerConduct(),
                counters,
                connectionsPerPeer);
    }

    private ControlPlane plane(UUID own) {
        return new ControlPlane() {
            @Override
            public void handle(String service, RequestHandler handler) {
                handlers.computeIfAbsent(own, id -> new ConcurrentHashMap<>()).put(service, handler);
            }

            @Override
            public CompletionStage<byte[]> request(
                    PeerAddress peer, String service, byte[] payload, Deadline deadline) {
                asked.add(service);
                byte[] reply;
                UnaryOperator<byte[]> change = changes.remove(service);
                try {
                    reply = handlers.get(peer.incarnation())
                            .get(service)
                            .handle(own, change == null ? payload : change.apply(payload));
                } catch (RuntimeException e) {
                    return CompletableFuture.failedFuture(e);
                }
                Runnable then = afterwards.remove(service);
                if (then != null) {
                    then.run();
                }
                return CompletableFuture.completedFuture(reply);
            }

            @Override
            public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
                throw new UnsupportedOperationException(queue);
            }

            @Override
            public void pull(String queue, WorkHandler handler) {
                throw new UnsupportedOperationException(queue);
            }

            @Override
            public void publish(String topic, byte[] payload) {
                throw new UnsupportedOperationException(topic);
            }

            @Override
            public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
                throw new UnsupportedOperationException(topic);
            }
        };
    }

    /** Whether the owner answers the reader. */
    boolean answers(String service, byte[] payload) {
        try {
            handlers.get(ownerAddress.incarnation()).get(service).handle(readerId, payload);
            return true;
        } catch (MooncakeException e) {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.PEER_REFUSED);
            return false;
        }
    }

    /** Once, what that service is to be asked instead. */
    void change(String service, UnaryOperator<byte[]> change) {
        changes.put(service, change);
    }

    /** Once, when that service has answered. */
    void after(String service, Runnable then) {
        afterwards.put(service, then);
    }

    /** Registers a range of the owner's memory. */
    Region register(int offset, int bytes, RegionGuard guard) {
        return register(ownerGpus, ownerRegions, owner, theirs, offset, bytes, guard);
    }

    RemoteHandle handle(Region region, int offset, int bytes, boolean writable) {
        return handle(region, offset, bytes, 1, writable);
    }

    RemoteHandle handle(Region region, int offset, int bytes, long generation, boolean writable) {
        return capabilities.issue(
                readerId, region.id(), generation, offset, bytes, writable, System.nanoTime() + 300_000_000_000L);
    }

    /** Moves request i between handle i and the reader's memory from {@code i * bytes} on. */
    TransferStatus[] move(boolean write, List<RemoteHandle> handles, int bytes, long deadlineMillis) {
        long[] addresses = new long[handles.size()];
        long[] sizes = new long[handles.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = ours.address + (long) i * bytes;
            sizes[i] = bytes;
        }
        TransferBatch batch = new TransferBatch(
                write,
                handles.toArray(RemoteHandle[]::new),
                addresses,
                sizes,
                null,
                null,
                null,
                System.nanoTime() + deadlineMillis * 1_000_000,
                TransferStatus.TIMEOUT,
                1);
        batch.prefer(Region.ANY_RAIL, preferred);
        reader.execute(ownerAddress, batch);
        for (int rail = 0; rail < railBytes.length; rail++) {
            railBytes[rail] = batch.railBytes(rail);
        }
        return batch.statuses();
    }

    /** As {@link #move}, of leased ranges: the copy of request i is to be what {@code checksums[i]} says, in one segment. */
    TransferStatus[] readLeased(List<RemoteHandle> handles, int bytes, int[] checksums, long deadlineMillis) {
        TransferBatch batch = leased(handles, bytes, checksums, deadlineMillis);
        reader.execute(ownerAddress, batch);
        return batch.statuses();
    }

    /** What goes by another way if this one declines it. */
    OptionalTransport.@Nullable Declined attempt(TransferBatch batch) {
        return reader.attempt(ownerAddress, batch);
    }

    /** As the owner's engine ends a region: waits until nothing holds it. */
    void end(Region region) {
        ownerRegions.unregister(region.id(), owner::cut);
    }

    /** The batch of {@link #readLeased}. */
    TransferBatch leased(List<RemoteHandle> handles, int bytes, int[] checksums, long deadlineMillis) {
        long[] addresses = new long[handles.size()];
        long[] sizes = new long[handles.size()];
        int[] segments = new int[handles.size()];
        int[][] expected = new int[handles.size()][];
        long[] generations = new long[handles.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = ours.address + (long) i * bytes;
            sizes[i] = bytes;
            segments[i] = bytes;
            expected[i] = new int[] {checksums[i]};
            generations[i] = PublishedGuard.NOWHERE;
        }
        return new TransferBatch(
                false,
                handles.toArray(RemoteHandle[]::new),
                addresses,
                sizes,
                segments,
                expected,
                generations,
                System.nanoTime() + deadlineMillis * 1_000_000,
                TransferStatus.TIMEOUT,
                1);
    }

    /** What the owner's memory holds now, for {@link #readLeased}. */
    int[] checksums(int count, int bytes) {
        return theirs.checksums(0, count * bytes, bytes);
    }

    /** Handles on {@code count} ranges of a region, one behind the other. */
    List<RemoteHandle> handles(Region region, int count, int bytes, boolean writable) {
        List<RemoteHandle> handles = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            handles.add(handle(region, i * bytes, bytes, writable));
        }
        return handles;
    }

    @Override
    public void close() {
        reader.close();
        owner.close();
        readerGpus.close();
        ownerGpus.close();
        reader.release();
        owner.release();
        ours.close();
        theirs.close();
    }
}
