// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.metadata.EngineRecord;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Moves bytes between registered memory of this process and of peers, one-sided: the peer's program takes no part besides granting the
 * lease.
 *
 * <p>Threading: safe for all threads. Ownership: registered memory belongs to the caller and must outlive its registration;
 * {@link #unregisterMemory} and {@link #close} return only when no transfer can touch it any more. Errors of a batch are a status a
 * request; exceptions are for wrong calls only.
 */
public interface TransferEngine extends AutoCloseable {
    /**
     * Starts an engine: binds its ports and begins to serve. With protocol auto or rdma it opens an RDMA device, and memory that is
     * registered is locked: {@code ulimit -l} must allow it.
     *
     * @throws io.mooncake.base.MooncakeException CONFIGURATION with each device's reason when the protocol is rdma and none can be used
     */
    static TransferEngine start(TransferEngineConfig config) {
        return EngineFactory.start(config);
    }

    /**
     * Starts an engine that others find by name, and that finds others.
     *
     * <pre>{@code
     * // MOONCAKE_SECRET=... is set, the same on all machines.
     * try (TransferEngine engine = TransferEngine.initialize("10.0.0.7", "etcd://10.0.0.1:2379", "auto", "")) {
     *     engine.registerMemory(address, length, (offset, bytes, generation) -> true);
     *     PeerAddress peer = engine.peer("10.0.0.8", Deadline.ofMillis(5000));
     *     try (RemoteLease lease = engine.lease(peer, "pool", keys, Duration.ofSeconds(5), Deadline.ofMillis(1000))) {
     *         TransferStatus[] ended =
     *                 engine.read(lease, List.of(new ReadRequest(0, address)), Deadline.ofMillis(1000));
     *     }
     * }
     * }</pre>
     *
     * <p>The cluster's secret comes from the system property {@code mooncake.secret} or the environment variable {@code MOONCAKE_SECRET}, 16..256
     * characters. Clusters that share a metadata server tell themselves apart by {@code mooncake.cluster} or {@code MOONCAKE_CLUSTER},
     * {@code default} where neither is set.
     *
     * @param localHostname name or address of an interface of this machine that peers can reach, and the engine's name: {@code host} or
     *     {@code host:port} with the first port to try (47700 where there is none), an IPv6 address in brackets
     * @param metadataServer {@code etcd://host:port[,host:port...]}; {@code ignite} for the one node of this process, with the plugin; or
     *     {@code memory} for engines of one process
     * @param protocol {@code auto}, {@code tcp}, {@code shm} or {@code rdma}, see {@link TransferProtocol}
     * @param deviceName names of RDMA devices or network interfaces, parted by commas; empty: all active RDMA devices and the interface of
     *     {@code localHostname}
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT or CONFIGURATION, naming the value and what was expected; EXHAUSTED
     *     when no port is free. That the metadata server can't be reached is no error: the engine is published when it can.
     */
    static TransferEngine initialize(String localHostname, String metadataServer, String protocol, String deviceName) {
        return EngineFactory.initialize(localHostname, metadataServer, protocol, deviceName);
    }

    /**
     * Finds a living engine by the name that it was {@linkplain #initialize initialized} with; asks it whether it is there.
     *
     * @throws io.mooncake.base.MooncakeException NOT_FOUND when there is none by the deadline; INVALID_ARGUMENT when several live under it;
     *     ILLEGAL_STATE when this engine was started without metadata
     */
    PeerAddress peer(String name, Deadline deadline);

    /**
     * The engines of the cluster, this one included, as far as they are known now. Never blocks.
     *
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE when this engine was started without metadata
     */
    List<EngineRecord> peers();

    /** Where peers reach this life of the engine. */
    PeerAddress address();

    /** Random id of this life. */
    default UUID incarnation() {
        return address().incarnation();
    }

    /** Small messages. */
    ControlPlane control();

    /**
     * Registers {@code length} bytes at {@code address} for transfers.
     *
     * @param guard asked on each remote access
     * @return region id, unique in this life
     */
    int registerMemory(long address, long length, RegionGuard guard);

    /**
     * As {@link #registerMemory(long, long, RegionGuard)} for memory that lies in a file: peers of this machine that can open the file map
     * it for reading and copy under their leases, without this process taking part.
     *
     * @param guard whose words, inside of the file, such peers compare after they copied
     * @param backing the file, created by this process; it must outlive the registration
     */
    int registerMemory(long address, long length, PublishedGuard guard, io.mooncake.natives.SharedFile backing);

    /**
     * Registers memory of a GPU, which transfers then read and write as they do memory of the host. What its bytes go through is chosen by
     * probing: the network card itself by a dma-buf, by peer memory, or pinned memory of the host; {@link #gpuPath} says which, and why.
     *
     * <p>Ownership: the allocation belongs to the caller and must outlive the registration. The GPU's primary context is used. Transfers
     * are ordered with nothing else on the GPU: memory that is read must have been written, by streams that were waited for.
     *
     * @param address of the device, for example of {@code cuMemAlloc}; no CPU touches it
     * @param cudaDevice ordinal of the GPU
     * @param guard asked on each remote access
     * @return region id, unique in this life
     * @throws io.mooncake.base.MooncakeException CONFIGURATION without a usable GPU, INVALID_ARGUMENT when the range is no memory of it;
     *     a {@link io.mooncake.natives.CudaException} when the driver fails
     */
    int registerGpuMemory(long address, long length, int cudaDevice, RegionGuard guard);

    /** How the bytes of a region on a GPU go, and why; empty for other regions. */
    java.util.Optional<io.mooncake.transfer.gpu.GpuReport> gpuPath(int region);

    /**
     * Registers several ranges, all or none.
     *
     * @param addresses of the ranges
     * @param lengths bytes of each
     * @return region ids, in order
     */
    int[] batchRegisterMemory(long[] addresses, long[] lengths, RegionGuard guard);

    /** Port of requests and replies. */
    default int rpcPort() {
        return address().controlPort();
    }

    /**
     * Tells {@code peer} something; it comes after whatever this thread's transfers that have ended have written there.
     *
     * @param payload at most {@link ControlPlane#MAX_PAYLOAD_BYTES}
     * @return completed when the peer's listener has returned, exceptionally as {@link ControlPlane#request}; PEER_REFUSED where nobody listens
     */
    java.util.concurrent.CompletionStage<Void> notifyPeer(PeerAddress peer, byte[] payload, Deadline deadline);

    /** Sets who hears notifications, once. Called on control threads, several at a time. */
    void onNotification(NotificationListener listener);

    /** Hears what peers tell. */
    @FunctionalInterface
    interface NotificationListener {
        /**
         * A peer told something.
         *
         * @param from its incarnation, authenticated
         */
        void onNotification(UUID from, byte[] payload);
    }

    /** How transfers to {@code peer} go, and why; the first question probes it, by the deadline. */
    PathReport path(PeerAddress peer, Deadline deadline);

    /** How each rail to {@code peer} does over TCP; empty when nothing has been asked of it that way. */
    List<RailStatistics> rails(PeerAddress peer);

    /**
     * Takes a range back before leases on it have ended, while its region stays registered: forced eviction. The region's guard must call the
     * range's generation old before. This call cuts the TCP connections whose writes were granted before and still wait for bytes; it ends
     * the keys that RDMA devices hold; and it waits until all writes have left the range, those by shared memory and from this engine to
     * itself too. What was granted before writes nothing of the range from then on, and what it reads counts for nothing; requests of others
     * that the same keys served are repeated by their peers. A range that was granted for writing is safe to use otherwise only after this, or
     * after its handles expired: a generation that moves does not stop bytes that a thread already waits for.
     *
     * @throws io.mooncake.base.MooncakeException INVALID_ARGUMENT for a range outside of a registered region; CONFIGURATION when a device has
     *     no new keys: the region can't be reached over RDMA any more then; DEADLINE_EXCEEDED when a write has not left the range within
     *     5 seconds: it is not safe to use then
     */
    void revoke(int region, long offset, long length);

    /** Ends the registration and waits until nothing can touch the memory any more. */
    void unregisterMemory(int region);

    /** Sets who answers lease requests; once. */
    void serveLeases(LeaseSource source);

    /**
     * Asks {@code peer} for leases on {@code keys}, all or some of which it may refuse.
     *
     * @param term how long the reader wants them, 10 ms..60 s; the owner may grant less
     * @throws io.mooncake.base.MooncakeException DEADLINE_EXCEEDED, PEER_UNREACHABLE, PEER_REFUSED, STALE
     */
    RemoteLease lease(
            PeerAddress peer, String namespace, List<byte[]> keys, java.time.Duration term, Deadline deadline);

    /**
     * Reads granted elements into local memory and verifies each copy: checksums, then generation and term. Requests run in parallel over
     * pooled connections.
     *
     * @param requests which element goes where; every target must lie in registered memory
     * @return one status a request, in order; on return no byte can arrive in any target any more
     */
    TransferStatus[] read(RemoteLease lease, List<ReadRequest> requests, Deadline deadline);

    /**
     * Raw one-sided reads of {@code sizes[i]} bytes from {@code handles[i]} into {@code localAddresses[i]}; not verified against a
     * checksum unless the transport's own frame check fails.
     */
    TransferStatus[] batchTransferSyncRead(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline);

    /**
     * Raw one-sided writes of {@code sizes[i]} bytes from {@code localAddresses[i]} to the writable {@code handles[i]}. The range of a write that
     * did not end COMPLETED is undefined until its handle has expired or {@code revoke} of it has returned: bytes that are with the owner's system
     * already may still go in, on top of a later write by the same handle too.
     */
    TransferStatus[] batchTransferSyncWrite(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline);

    /**
     * As {@link #batchTransferSyncRead(PeerAddress, long[], RemoteHandle[], long[], Deadline)}, without allocating.
     *
     * @param statuses takes one status a request, in order; at least as long as {@code handles}
     * @param deadlineNanos on {@link System#nanoTime()}; a past one ends the requests as TIMEOUT
     */
    void batchTransferSyncRead(
            PeerAddress peer,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            TransferStatus[] statuses,
            long deadlineNanos);

    /** As {@link #batchTransferSyncRead(PeerAddress, long[], RemoteHandle[], long[], TransferStatus[], long)}, the other way. */
    void batchTransferSyncWrite(
            PeerAddress peer,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            TransferStatus[] statuses,
            long deadlineNanos);

    /** A leased read, checked once, to be run as often as wanted without allocating. */
    PreparedRead prepareRead(RemoteLease lease, List<ReadRequest> requests);

    /**
     * Starts raw one-sided reads and writes and returns at once. Requests with the same peer, direction and deadline are moved as one batch, so
     * share the deadline object where you can. Local memory is held from the start of a request to its end; one whose memory is not
     * registered by then is CANCELED.
     *
     * @throws io.mooncake.base.MooncakeException EXHAUSTED when too much waits; nothing has started then
     */
    TransferTicket submit(List<TransferOperation> operations);

    /** As {@link #read(RemoteLease, List, Deadline)}, at once and behind a ticket. The lease stays the caller's, to close after the end. */
    TransferTicket submitRead(RemoteLease lease, List<ReadRequest> requests, Deadline deadline);

    /** Issues a handle on own registered memory for a peer, for raw reads and writes. */
    RemoteHandle issueHandle(
            UUID peer,
            int region,
            long generation,
            long offset,
            long length,
            boolean writable,
            java.time.Duration term);

    /** Declares an incarnation dead: its leases end, its connections close, requests to it fail at once. */
    void peerGone(UUID incarnation);

    /**
     * Takes {@link #peerGone} back: the cluster had lost that life of a peer, and has it again, as when a client of Ignite reconnects. What
     * ended stays ended; new connections and requests work.
     */
    void peerBack(UUID incarnation);

    /**
     * Round trip and bandwidth to peers as this engine's own calls measured them, whatever way they took; ranks the sources of a block. Calls that
     * run behind tickets count too. A row for each TCP rail, RDMA device and memory in common that transfers went by.
     */
    io.mooncake.transfer.topology.PathMatrix pathMatrix();

    /** Counters since start. */
    TransferStatistics statistics();

    /**
     * Requests of peers over TCP that this engine refused since its start, by cause; every cause is there. A peer that is refused more than
     * 1,000 times a second is slowed down, then cut and kept out of the data plane for ten seconds; refusals that honest peers meet weigh
     * an eighth.
     */
    Map<RefusalCause, Long> refusals();

    /** Leases that this engine granted and that have not ended, read as each iteration goes, without a lock. */
    Iterable<GrantedLease> leases();

    /** Memory registered now. */
    List<RegisteredRegion> regions();

    /** Asynchronous transfers under way, by peer; a peer without any is not among them. */
    List<PeerQueue> queues();

    /** Stops serving, waits for transfers in flight (bounded), closes all sockets and threads. Idempotent. */
    @Override
    void close();

    /**
     * One element of a lease and where it goes.
     *
     * @param element index in the lease
     * @param localAddress target, inside registered memory, {@code length} bytes as granted
     */
    record ReadRequest(int element, long localAddress) {}
}
