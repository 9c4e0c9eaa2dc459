// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.BlockPut;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockResult.Status;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.IncomingBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/** Puts blocks on this node, then copies on others: offered in batches, pulled by who takes them. One a call, by its thread. */
final class BlockPutter {
    private static final int OFFER_BLOCKS = 256;

    private final NodeServices services;
    private final LocalKvPool local;
    private final @Nullable SsdTier ssd;
    private final Tenant tenant;
    /** Nodes that took a copy: the index hears of them some milliseconds later. */
    private final Map<BlockKey, Set<UUID>> taken = new HashMap<>();

    BlockPutter(NodeServices services, ClusterKvPool pool, Tenant tenant) {
        this.services = services;
        this.local = pool.local();
        this.ssd = pool.ssd();
        this.tenant = tenant;
    }

    List<BlockResult> put(List<BlockPut> blocks, int replicas, Deadline deadline) {
        List<BlockKey> keys = new ArrayList<>(blocks.size());
        for (int i = 0; i < blocks.size(); i++) {
            keys.add(key(blocks.get(i), i));
        }
        Status[] statuses = new Status[blocks.size()];
        // What is held until it is copied must leave room for what else goes on.
        int chunk = Math.max(1, Math.min(OFFER_BLOCKS, local.stats().capacityBlocks() / 4));
        boolean interrupted = false;
        for (int from = 0; from < statuses.length; from += chunk) {
            int to = Math.min(statuses.length, from + chunk);
            interrupted |= put(blocks, keys, statuses, from, to, replicas, deadline);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        List<BlockResult> results = new ArrayList<>(statuses.length);
        for (int i = 0; i < statuses.length; i++) {
            int copies = known(keys.get(i)).size();
            boolean put = statuses[i] == Status.STORED || statuses[i] == Status.EXISTING;
            String detail = put && copies < replicas ? copies + " copies of " + replicas : "";
            results.add(new BlockResult(keys.get(i), statuses[i], copies, detail));
        }
        return results;
    }

    /** Stores some, and holds them until others have copies; @return whether the thread was interrupted */
    private boolean put(
            List<BlockPut> blocks,
            List<BlockKey> keys,
            Status[] statuses,
            int from,
            int to,
            int replicas,
            Deadline deadline) {
        List<IncomingBlock> held = new ArrayList<>();
        try {
            for (int i = from; i < to; i++) {
                statuses[i] = store(keys.get(i), blocks.get(i), deadline, held);
            }
            return replicate(keys.subList(from, to), Arrays.copyOfRange(statuses, from, to), replicas, deadline);
        } finally {
            held.forEach(IncomingBlock::close);
        }
    }

    /** Living nodes that have it, this one included. */
    private Set<UUID> known(BlockKey key) {
        Set<UUID> nodes = BlockCopies.known(services, local, ssd, key);
        for (UUID node : taken.getOrDefault(key, Set.of())) {
            if (services.members().find(node).isPresent()) {
                nodes.add(node);
            }
        }
        return nodes;
    }

    private BlockKey key(BlockPut block, int index) {
        int tokens = local.identity().blockTokens();
        int bytes = local.layout().payloadBytes();
        if (block.tokens().length != tokens) {
            throw MooncakeException.invalid(
                    "blocks[" + index + "].tokens.length", block.tokens().length, String.valueOf(tokens));
        }
        for (int i = 0; i < tokens; i++) {
            int token = block.tokens()[i];
            if (token < 0 || token >= local.vocabulary()) {
                throw MooncakeException.invalid(
                        "blocks[" + index + "].tokens[" + i + "]", token, "0.." + (local.vocabulary() - 1));
            }
        }
        if (block.depth() < 0 || block.depth() >= LocalKvPool.MAX_PROMPT_TOKENS) {
            throw MooncakeException.invalid(
                    "blocks[" + index + "].depth", block.depth(), "0.." + (LocalKvPool.MAX_PROMPT_TOKENS - 1));
        }
        if (block.payload().remaining() != bytes) {
            throw MooncakeException.invalid(
                    "blocks[" + index + "].payload", block.payload().remaining() + " bytes", bytes + " bytes");
        }
        return new ChainKeys().next(block.parent(), block.tokens(), 0, tokens);
    }

    private Status store(BlockKey key, BlockPut block, Deadline deadline, List<IncomingBlock> held) {
        if (BlockCopies.here(local, ssd, key)) {
            return Status.EXISTING;
        }
        if (deadline.expired()) {
            return Status.EXPIRED;
        }
        IncomingBlock place = local.beginIncoming(key, block.parent(), block.depth(), block.tokens(), tenant, deadline);
        if (place == null) {
            return Status.NO_ROOM;
        }
        held.add(place);
        copy(block.payload(), place.address());
        return switch (place.seal()) {
            case STORED -> Status.STORED;
            case KEPT_EXISTING -> Status.EXISTING;
            case INDEX_FULL -> Status.NO_ROOM;
            case WRONG_IDENTITY, WRONG_CHECKSUM -> Status.REFUSED;
        };
    }

    private static void copy(ByteBuffer from, long address) {
        int bytes = from.remaining();
        if (from.isDirect()) {
            MemoryUtil.copyMemory(MemoryUtil.getByteBufferAddress(from) + from.position(), address, bytes);
        } else if (from.hasArray()) {
            MemoryUtil.copyToMemory(from.array(), from.arrayOffset() + from.position(), address, bytes);
        } else {
            byte[] copied = new byte[bytes];
            from.duplicate().get(copied);
            MemoryUtil.copyToMemory(copied, 0, address, bytes);
        }
    }

    /** @return whether the thread was interrupted, which ends it */
    private boolean replicate(List<BlockKey> keys, Status[] statuses, int replicas, Deadline deadline) {
        for (int copy = 1; copy < replicas; copy++) {
            Map<Set<UUID>, List<BlockKey>> byHolders = new LinkedHashMap<>();
            for (int i = 0; i < statuses.length; i++) {
                boolean here = statuses[i] == Status.STORED || statuses[i] == Status.EXISTING;
                Set<UUID> holders = known(keys.get(i));
                if (here && holders.size() < replicas) {
                    byHolders
                            .computeIfAbsent(holders, nodes -> new ArrayList<>())
                            .add(keys.get(i));
                }
            }
            for (Map.Entry<Set<UUID>, List<BlockKey>> group : byHolders.entrySet()) {
                List<BlockKey> all = group.getValue();
                for (int from = 0; from < all.size(); from += OFFER_BLOCKS) {
                    List<BlockKey> batch = all.subList(from, Math.min(all.size(), from + OFFER_BLOCKS));
                    try {
                        note(
                                batch,
                                services.placement()
                                        .copy(local.name(), tenant.name(), batch, group.getKey(), deadline));
                    } catch (InterruptedException e) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private void note(List<BlockKey> batch, @Nullable UUID[] nodes) {
        for (int i = 0; i < nodes.length; i++) {
            UUID node = nodes[i];
            if (node != null) {
                taken.computeIfAbsent(batch.get(i), key -> new HashSet<>()).add(node);
            }
        }
    }
}
