// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.metadata.internal.EngineRecords;
import io.mooncake.transfer.metadata.internal.Providers;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Small records that the nodes of a cluster tell each other, among them where their engines are. Each record has one writer: it is named by
 * its key and its {@linkplain #owner() owner}, so that several nodes may publish under one key without ever overwriting each other.
 *
 * <p><b>Leases.</b> All that a store has put lives under one lease of this node. It goes when the store is closed, and within the lease time
 * when the process dies.
 *
 * <p><b>What a reader sees.</b> Every store holds a copy of all records of its cluster; {@link #get}, {@link #list} and {@link #engines} answer
 * from it at once and never fail. Own records are seen as soon as {@link #put} is called. Records of others follow: eventually, normally
 * within milliseconds, each record's versions in the order of their writing and never backwards. There is no order between records of
 * different owners. Before the first synchronisation ({@link #awaitSynced}) the copy holds own records only.
 *
 * <p><b>Gaps.</b> When events were or may have been lost (connection broken, history compacted, data wiped) the store lists everything anew,
 * tells listeners the difference and then {@link MetadataListener#resynced}. A listener that only follows events ends with the right set.
 *
 * <p><b>Outages.</b> While the backing service cannot be reached the copy is served as it was. What is put or removed meanwhile is kept and
 * done when the service is back. Leases of living nodes may have run out or all data may be gone by then, so that from the
 * begin of an outage until {@link #RETURN_GRACE} after its end no record of another owner is dropped: those that are gone then, go then. Own records are
 * published again within {@link #REPUBLISH_BOUND} of the service's return, whatever was lost there. A peer that died in an outage is thus
 * believed in for a while; the engine finds out by itself that it is dead. Retries are spread by a random share of their delay.
 *
 * <p>Time comes from the clock of the {@link MetadataContext}, never from wall-clock time.
 *
 * <p>Threading: safe for all threads. Ownership: the opener closes. Errors: INVALID_ARGUMENT for keys and values outside of the limits,
 * ILLEGAL_STATE after {@link #close} (reads go on answering from the last copy), EXHAUSTED beyond {@link #MAX_OWN_RECORDS}; that the service cannot
 * be reached is no error but a return value.
 */
public interface MetadataStore extends AutoCloseable {
    /** Longest value of a record. */
    int MAX_VALUE_BYTES = 16 * 1024;

    /** Most records that one store may put. */
    int MAX_OWN_RECORDS = 4096;

    /** How long after the end of an outage records of others are kept although the service does not have them. */
    java.time.Duration RETURN_GRACE = java.time.Duration.ofSeconds(15);

    /** By when after the service's return own records are published again. */
    java.time.Duration REPUBLISH_BOUND = java.time.Duration.ofSeconds(15);

    /**
     * Opens a store; does not wait for the service: a node starts while it is down.
     *
     * @param metadataServer {@code etcd://[user[:password]@]host:port[,host:port...]}, {@code ignite[://INSTANCE]} or {@code memory[://NAME]}
     * @throws io.mooncake.base.MooncakeException CONFIGURATION when no provider serves it; lists those found and why each was refused
     */
    static MetadataStore open(String metadataServer, MetadataContext context) {
        return Providers.open(MetadataServer.parse(metadataServer), context);
    }

    /** Names the writer of this store's records: random, another for each life. */
    UUID owner();

    /**
     * Publishes a record, in place of this store's earlier one of that key, and keeps it published until it is removed.
     *
     * @param key {@code [A-Za-z0-9._-]} in segments parted by {@code /}, 1..200 characters
     * @param value 0..{@link #MAX_VALUE_BYTES} bytes, copied
     * @param deadline how long to wait for the service's word
     * @return true when the service has it; false when the deadline passed before: it will be published as soon as possible
     */
    boolean put(String key, byte[] value, Deadline deadline);

    /**
     * Takes this store's record of that key back. Records of others are not touched.
     *
     * @return true when the service has removed it (or never had it); false when the deadline passed before: it will be removed as soon as
     *     possible
     */
    boolean remove(String key, Deadline deadline);

    /** All owners' records of that key, sorted by owner. */
    List<MetadataRecord> get(String key);

    /** All records whose key starts with {@code prefix} (empty: all), sorted by key, then owner. */
    List<MetadataRecord> list(String prefix);

    /**
     * Follows the records whose key starts with {@code prefix}: first each that is there as {@link MetadataListener#added}, then
     * {@link MetadataListener#resynced} if the store was synchronised before, then what happens.
     *
     * <p>All listeners of a store are called on its one event thread, in order, one at a time. They must not block; what they throw is logged.
     *
     * @return ends the following; no call begins after its {@code close} when it is closed on the event thread, at most one else
     */
    MetadataSubscription watch(String prefix, MetadataListener listener);

    /** Waits until the copy was synchronised once (true), or the deadline (false). */
    boolean awaitSynced(Deadline deadline);

    /** How it goes. */
    MetadataStatus status();

    /** Publishes an engine of this node: its address and attributes, as a record {@code engine/INCARNATION}. Returns as {@link #put} does. */
    default boolean register(EngineRecord engine, Deadline deadline) {
        return put(EngineRecords.key(engine.address().incarnation()), EngineRecords.encode(engine), deadline);
    }

    /** Takes {@link #register} back. Returns as {@link #remove} does. */
    default boolean unregister(UUID incarnation, Deadline deadline) {
        return remove(EngineRecords.key(incarnation), deadline);
    }

    /** All engines, own included, sorted by incarnation. Records that are not understood are left out. */
    default List<EngineRecord> engines() {
        return EngineRecords.all(list(EngineRecords.PREFIX));
    }

    /** The engine of that incarnation. Where several owners name it, the record with the highest version counts. */
    default Optional<EngineRecord> findEngine(UUID incarnation) {
        return EngineRecords.newest(get(EngineRecords.key(incarnation)));
    }

    /** Follows engines as {@link #watch} follows records. */
    default MetadataSubscription watchEngines(EngineListener listener) {
        return watch(EngineRecords.PREFIX, EngineRecords.listener(listener));
    }

    /** Takes own records back (waits up to two seconds for the service) and stops. Idempotent. */
    @Override
    void close();
}
