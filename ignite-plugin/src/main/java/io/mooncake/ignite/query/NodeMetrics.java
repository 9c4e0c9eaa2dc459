// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PoolStatistics;
import io.mooncake.memory.SsdTierStatistics;
import io.mooncake.memory.ssd.SsdStatus;
import io.mooncake.transfer.TransferStatistics;
import java.util.function.ToLongFunction;

/**
 * The node's figures in Ignite's metric registries {@code mooncake.pool}, {@code mooncake.ssd} and {@code mooncake.transfer}, and with them in SYS.METRICS, JMX
 * and every exporter. Sums over the node's pools, read when somebody looks.
 */
final class NodeMetrics {
    static final String POOL = "mooncake.pool";
    static final String SSD = "mooncake.ssd";
    static final String TRANSFER = "mooncake.transfer";

    private final NodeServices services;
    private final IgniteAdapter adapter;

    private NodeMetrics(NodeServices services) {
        this.services = services;
        this.adapter = services.adapter();
    }

    static void register(NodeServices services) {
        NodeMetrics metrics = new NodeMetrics(services);
        metrics.registerPool();
        metrics.registerTransfer();
        metrics.registerSsd();
    }

    private void registerPool() {
        pool("blocks", "Blocks held now.", PoolStatistics::blocks);
        pool("capacityBlocks", "Blocks that fit.", PoolStatistics::capacityBlocks);
        pool("freeBlocks", "Blocks free now.", PoolStatistics::freeBlocks);
        pool("stored", "Blocks stored since start.", PoolStatistics::stored);
        pool("evictions", "Blocks evicted since start.", PoolStatistics::evicted);
        pool("allocationFailures", "Times no block was free or could be freed.", PoolStatistics::allocationFailures);
        pool("leases", "Leases, pins and writers open now.", PoolStatistics::openLeases);
        pool("lookups", "Look-ups since start.", PoolStatistics::lookups);
        pool("requestedTokens", "Tokens of the prompts looked up.", PoolStatistics::requestedTokens);
        pool("localHitTokens", "Tokens reused from this node's memory.", PoolStatistics::localTokens);
        pool("remoteHitTokens", "Tokens fetched from peers and reused.", PoolStatistics::remoteTokens);
        pool(
                "missedTokens",
                "Tokens of prompts that were not reused.",
                stats -> Math.max(0, stats.requestedTokens() - stats.localTokens() - stats.remoteTokens()));
        for (MissReason reason : MissReason.values()) {
            pool("misses." + reason.name(), "Look-ups that ended for this reason.", stats -> stats.misses()
                    .getOrDefault(reason, 0L));
        }
        adapter.registerMetric(
                POOL, "indexEntries", "Blocks of other nodes in this node's index.", () -> services.index()
                        .entries());
        adapter.registerMetric(
                POOL,
                "indexRefused",
                "Blocks of other nodes that found no room in this node's index (option indexEntries).",
                () -> services.index().refused());
    }

    private void registerTransfer() {
        transfer("bytesFetched", "Bytes read from peers.", TransferStatistics::bytesRead);
        transfer("bytesFetchedBySharedMemory", "Bytes copied out of memory of peers.", TransferStatistics::readShm);
        transfer("bytesFetchedByRdma", "Bytes read from peers by RDMA.", TransferStatistics::readRdma);
        transfer("bytesFetchedByTcp", "Bytes read from peers by TCP.", TransferStatistics::readTcp);
        transfer("bytesWrittenBySharedMemory", "Bytes that peers took for writes.", TransferStatistics::writtenShm);
        transfer("bytesWrittenByRdma", "Bytes written to peers by RDMA.", TransferStatistics::writtenRdma);
        transfer("bytesWrittenByTcp", "Bytes written to peers by TCP.", TransferStatistics::writtenTcp);
        transfer("bytesServed", "Bytes that peers read from here.", TransferStatistics::bytesServed);
        transfer("bytesWritten", "Bytes written to peers.", TransferStatistics::bytesWritten);
        transfer("bytesReceived", "Bytes that peers wrote here.", TransferStatistics::bytesReceived);
        transfer("requestsServed", "Data-plane requests answered with bytes.", TransferStatistics::requestsServed);
        transfer("requestsRefused", "Data-plane requests refused.", TransferStatistics::requestsRefused);
        transfer("leasesGranted", "Blocks granted to peers.", TransferStatistics::leasesGranted);
        transfer("leasesOpen", "Blocks granted to peers now.", TransferStatistics::leasesOpen);
        transfer(
                "authenticationFailures",
                "Connections and messages that did not prove the secret.",
                TransferStatistics::authenticationFailures);
    }

    private void registerSsd() {
        ssd("blocks", "Blocks on the SSD now.", SsdTierStatistics::blocks);
        ssd("capacityBlocks", "Blocks that fit on the SSD.", SsdTierStatistics::capacityBlocks);
        ssd("loaded", "Blocks brought up into memory since start.", SsdTierStatistics::loaded);
        ssd("bytesLoaded", "Bytes of them.", stats -> stats.loaded() * stats.blockBytes());
        ssd("written", "Blocks written since start.", SsdTierStatistics::written);
        ssd("bytesWritten", "Bytes of them.", stats -> stats.written() * stats.blockBytes());
        ssd("evictions", "Blocks taken off the SSD for room since start.", SsdTierStatistics::evicted);
        ssd("queued", "Blocks that wait to be written now.", SsdTierStatistics::queued);
        ssd("dropped", "Blocks not written because the queue was full.", SsdTierStatistics::dropped);
        ssd("lost", "Blocks evicted from memory before they were written.", SsdTierStatistics::lost);
        ssd("writeFailures", "Blocks that could not be written.", SsdTierStatistics::writeFailures);
        ssd("readFailures", "Blocks that the device did not give.", SsdTierStatistics::readFailures);
        ssd("late", "Blocks that were not there by the deadline.", SsdTierStatistics::late);
        ssd("damaged", "Blocks that failed a check when they were read.", SsdTierStatistics::damaged);
        ssd("recovered", "Blocks of an earlier life that were found.", SsdTierStatistics::recovered);
        ssd("out", "SSDs that took themselves out after repeated errors.", SsdStatus.State.DISABLED);
        ssd("paused", "SSDs whose writes fail, and are tried again every few seconds.", SsdStatus.State.PAUSED);
        ssd("noRoom", "SSDs that can't grow, since their file system is full.", SsdStatus.State.NO_ROOM);
    }

    private void ssd(String name, String description, SsdStatus.State state) {
        ssd(name, description, stats -> stats.status().state() == state ? 1 : 0);
    }

    private void ssd(String name, String description, ToLongFunction<SsdTierStatistics> value) {
        adapter.registerMetric(SSD, name, description, () -> services.tiers().values().stream()
                .mapToLong(tier -> value.applyAsLong(tier.statistics()))
                .sum());
    }

    private void pool(String name, String description, ToLongFunction<PoolStatistics> value) {
        adapter.registerMetric(POOL, name, description, () -> services.localPools().values().stream()
                .mapToLong(pool -> value.applyAsLong(pool.stats()))
                .sum());
    }

    private void transfer(String name, String description, ToLongFunction<TransferStatistics> value) {
        adapter.registerMetric(
                TRANSFER,
                name,
                description,
                () -> value.applyAsLong(services.engine().statistics()));
    }
}
