// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.blocks.ActFrame.Action;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.RemovalCause;
import io.mooncake.memory.SsdTier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Pins and removals of blocks on the node that has them: done here, or asked of another. Only members are heard, in their present life: who was declared gone and
 * goes on must not change what the others hold.
 *
 * <p>Threading: safe for all threads; requests of others come on the engine's control threads.
 */
public final class BlockActs implements NodeComponent {
    private static final String SERVICE = "mooncake.act";
    /** What a pin may wait for the SSD on a control thread. */
    private static final long SSD_MILLIS = 500;

    @Override
    public void start(NodeServices node) {
        node.engine().control().handle(SERVICE, (from, request) -> answer(node, from, request));
    }

    private static byte[] answer(NodeServices node, UUID from, byte[] request) {
        if (!node.members().hasEngine(from)) {
            throw new MooncakeException(
                    MooncakeException.Code.STALE, "engine " + from + " (expected: one of a member of the cluster)");
        }
        if (node.fenced()) {
            throw new MooncakeException(
                    MooncakeException.Code.STALE, "this node (expected: one that knows that it is a member)");
        }
        return ActFrame.answer(here(node, ActFrame.decode(request), Deadline.ofMillis(SSD_MILLIS)));
    }

    /** Does it on this node; what only the SSD has is brought up for pins, together, by the deadline. */
    static List<BlockOutcome> here(NodeServices node, ActFrame asked, Deadline deadline) {
        LocalKvPool pool = node.localPools().get(asked.pool());
        SsdTier tier = node.tiers().get(asked.pool());
        List<BlockOutcome> outcomes = new ArrayList<>(asked.keys().size());
        boolean pins = asked.action() == Action.PIN_HARD || asked.action() == Action.PIN_SOFT;
        List<BlockKey> onSsd = pool == null || tier == null || !pins
                ? List.of()
                : asked.keys().stream()
                        .filter(key -> !pool.contains(key) && tier.contains(key))
                        .toList();
        List<@Nullable PinnedBlock> held = tier == null || onSsd.isEmpty() ? List.of() : tier.pin(onSsd, deadline);
        try {
            for (BlockKey key : asked.keys()) {
                outcomes.add(pool == null ? BlockOutcome.ABSENT : act(pool, tier, asked, key));
            }
        } finally {
            for (PinnedBlock block : held) {
                if (block != null) {
                    block.close();
                }
            }
        }
        return outcomes;
    }

    private static BlockOutcome act(LocalKvPool pool, @Nullable SsdTier tier, ActFrame asked, BlockKey key) {
        return switch (asked.action()) {
            case PIN_HARD -> tier == null ? pool.pinHard(key) : tier.pinHard(key);
            case PIN_SOFT -> pool.pinSoft(key, Duration.ofMillis(asked.millis()));
            case UNPIN -> pool.unpin(key);
            case REMOVE ->
                tier == null ? pool.remove(key, RemovalCause.REMOVED) : tier.remove(key, RemovalCause.REMOVED);
        };
    }

    /** Asks {@code member}; completed exceptionally with a MooncakeException when it does not answer in time. */
    static CompletableFuture<List<BlockOutcome>> there(
            NodeServices node, Member member, ActFrame asked, Deadline deadline) {
        int count = asked.keys().size();
        return node.engine()
                .control()
                .request(member.address(), SERVICE, asked.encode(), deadline)
                .toCompletableFuture()
                .thenApply(reply -> ActFrame.outcomes(reply, count));
    }
}
