// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.BlockPut;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockResult.Status;
import io.mooncake.ignite.BlockSet;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.PutOptions;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.blocks.ActFrame.Action;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.state.StateRow.ReplicaIntent;
import io.mooncake.ignite.state.StateTable;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** {@link KvBlocks} over a node's pool, the index, and the holders. */
public final class ClusterBlocks implements KvBlocks {
    private static final Duration LONGEST_CALL = Duration.ofHours(1);
    private static final Duration LONGEST_PIN = Duration.ofDays(365);

    private final NodeServices services;
    private final ClusterKvPool pool;
    private final LocalKvPool local;
    private final Tenant tenant;

    /** @param pool of this node */
    public ClusterBlocks(NodeServices services, ClusterKvPool pool, Tenant tenant) {
        this.services = services;
        this.pool = pool;
        this.local = pool.local();
        this.tenant = tenant;
    }

    @Override
    public BlockKey root() {
        return local.root(tenant);
    }

    @Override
    public BlockKey key(BlockKey parent, int[] tokens) {
        int count = local.identity().blockTokens();
        if (tokens.length != count) {
            throw MooncakeException.invalid("tokens.length", tokens.length, String.valueOf(count));
        }
        return new ChainKeys().next(parent, tokens, 0, count);
    }

    @Override
    public List<BlockResult> put(List<BlockPut> blocks, PutOptions options) {
        requireSome("blocks", blocks);
        Deadline deadline = deadline(options.timeout());
        requireCopies("replicas", options.replicas());
        return new BlockPutter(services, pool, tenant).put(blocks, options.replicas(), deadline);
    }

    private void requireCopies(String name, int copies) {
        // A node that does not announce its blocks lends none, so nobody could copy them.
        long stores = services.settings().role() == Role.STORE
                ? services.members().all().stream()
                        .filter(member -> member.role() == Role.STORE
                                && services.members().poolNames().has(member, local.name()))
                        .count()
                : 1;
        if (copies < 1 || copies > Math.max(1, stores)) {
            throw MooncakeException.invalid(
                    name, copies, "1.." + Math.max(1, stores) + ", the nodes that hold pool " + local.name());
        }
    }

    @Override
    public List<BlockResult> keep(List<BlockKey> keys, int copies, Duration timeout) {
        requireSome("keys", keys);
        requireCopies("copies", copies);
        Deadline deadline = deadline(timeout);
        return keys.stream().map(key -> keep(key, copies, deadline)).toList();
    }

    private BlockResult keep(BlockKey key, int copies, Deadline deadline) {
        StateTable<ReplicaIntent> intents = services.state().replicas();
        try {
            if (copies == 1) {
                intents.removeAny(ReplicaIntent.key(local.name(), key), deadline);
            } else {
                intents.put(new ReplicaIntent(local.name(), key, copies, tenant.name()), deadline);
            }
            return new BlockResult(key, Status.DONE, copies(key), "");
        } catch (MooncakeException e) {
            return new BlockResult(key, Status.REFUSED, copies(key), String.valueOf(e.getMessage()));
        }
    }

    @Override
    public BlockSet get(List<BlockKey> keys, Duration timeout) {
        requireSome("keys", keys);
        return new BlockGetter(services, pool, tenant, keys, deadline(timeout)).get();
    }

    @Override
    public List<BlockResult> exists(List<BlockKey> keys) {
        requireSome("keys", keys);
        return keys.stream()
                .map(key -> {
                    int copies = copies(key);
                    return new BlockResult(key, copies > 0 ? Status.FOUND : Status.ABSENT, copies, "");
                })
                .toList();
    }

    private int copies(BlockKey key) {
        return BlockCopies.known(services, local, pool.ssd(), key).size();
    }

    @Override
    public List<BlockResult> pinHard(List<BlockKey> keys, Duration timeout) {
        return pin(Action.PIN_HARD, keys, 0, timeout);
    }

    @Override
    public List<BlockResult> pinSoft(List<BlockKey> keys, Duration time, Duration timeout) {
        if (time.compareTo(Duration.ofMillis(1)) < 0 || time.compareTo(LONGEST_PIN) > 0) {
            throw MooncakeException.invalid("pin time", time, "1 ms .. " + LONGEST_PIN);
        }
        return pin(Action.PIN_SOFT, keys, time.toMillis(), timeout);
    }

    /** One node a block: here, else the holders in turn. */
    private List<BlockResult> pin(Action action, List<BlockKey> keys, long millis, Duration timeout) {
        requireSome("keys", keys);
        Deadline deadline = deadline(timeout);
        List<BlockOutcome> here = BlockActs.here(services, new ActFrame(action, millis, local.name(), keys), deadline);
        List<BlockResult> results = new ArrayList<>(keys.size());
        Optional<Member> self = services.members().find(services.localNodeId());
        for (int i = 0; i < keys.size(); i++) {
            results.add(
                    here.get(i) == BlockOutcome.ABSENT
                            ? pinElsewhere(action, keys.get(i), millis, deadline)
                            : pinned(action, keys.get(i), self, "on this node", deadline));
        }
        return results;
    }

    private BlockResult pinned(Action action, BlockKey key, Optional<Member> where, String told, Deadline deadline) {
        String ends = action != Action.PIN_HARD || where.isEmpty()
                ? ""
                : LastingPins.remember(services, local.name(), key, where.get(), deadline);
        return new BlockResult(key, Status.PINNED, copies(key), ends.isEmpty() ? told : told + "; " + ends);
    }

    private BlockResult pinElsewhere(Action action, BlockKey key, long millis, Deadline deadline) {
        String refusal = "";
        for (UUID node : services.index().holders(local.name(), key)) {
            Optional<Member> holder = services.members().find(node);
            if (holder.isEmpty()) {
                continue;
            }
            try {
                BlockOutcome outcome = BlockActs.there(
                                services,
                                holder.get(),
                                new ActFrame(action, millis, local.name(), List.of(key)),
                                deadline.atMost(services.settings().fetchTimeout()))
                        .join()
                        .get(0);
                if (outcome != BlockOutcome.ABSENT) {
                    return pinned(action, key, holder, "on node " + node, deadline);
                }
            } catch (CompletionException e) {
                refusal = "node " + node + ": " + message(e);
            }
        }
        Status status = refusal.isEmpty() ? Status.ABSENT : Status.REFUSED;
        return new BlockResult(key, status, copies(key), refusal);
    }

    @Override
    public List<BlockResult> unpin(List<BlockKey> keys, Duration timeout) {
        requireSome("keys", keys);
        Deadline deadline = deadline(timeout);
        // The rows first: whoever pins for one looks at it again afterwards.
        List<String> remembered = keys.stream()
                .map(key -> LastingPins.forget(services, local.name(), key, deadline))
                .toList();
        List<BlockResult> results = everywhere(Action.UNPIN, keys, deadline);
        for (int i = 0; i < results.size(); i++) {
            if (!remembered.get(i).isEmpty()) {
                BlockResult result = results.get(i);
                results.set(i, new BlockResult(result.key(), Status.REFUSED, result.copies(), remembered.get(i)));
            }
        }
        return results;
    }

    @Override
    public List<BlockResult> remove(List<BlockKey> keys, Duration timeout) {
        requireSome("keys", keys);
        return everywhere(Action.REMOVE, keys, deadline(timeout));
    }

    /** All nodes with the pool at once. */
    private List<BlockResult> everywhere(Action action, List<BlockKey> keys, Deadline deadline) {
        Tally[] tallies = new Tally[keys.size()];
        for (int i = 0; i < tallies.length; i++) {
            tallies[i] = new Tally();
        }
        ActFrame asked = new ActFrame(action, 0, local.name(), keys);
        Map<UUID, CompletableFuture<List<BlockOutcome>>> answers = new LinkedHashMap<>();
        // Not only those that the index names: it may not have heard yet, and who does not announce has copies, too.
        for (Member member : services.members().all()) {
            if (!member.local()
                    && member.role() != Role.OBSERVER
                    && services.members().poolNames().has(member, local.name())) {
                answers.put(member.nodeId(), BlockActs.there(services, member, asked, deadline));
            }
        }
        List<BlockOutcome> here = BlockActs.here(services, asked, deadline);
        for (int i = 0; i < tallies.length; i++) {
            tallies[i].add(here.get(i), "this node");
        }
        answers.forEach((node, answer) -> {
            try {
                List<BlockOutcome> outcomes = answer.join();
                for (int i = 0; i < outcomes.size(); i++) {
                    tallies[i].add(outcomes.get(i), "node " + node);
                }
            } catch (CompletionException e) {
                for (Tally tally : tallies) {
                    tally.refused = "node " + node + ": " + message(e);
                }
            }
        });
        List<BlockResult> results = new ArrayList<>(keys.size());
        for (int i = 0; i < tallies.length; i++) {
            results.add(tallies[i].result(keys.get(i)));
        }
        return results;
    }

    /** What all holders of one block said. */
    private static final class Tally {
        private int done;
        private boolean there;
        private String refused = "";

        void add(BlockOutcome outcome, String node) {
            switch (outcome) {
                case DONE -> done++;
                case UNCHANGED -> there = true;
                case PINNED -> refused = node + ": a hard pin holds it, or a block that follows it";
                case ABSENT -> {}
            }
        }

        BlockResult result(BlockKey key) {
            Status status = !refused.isEmpty() ? Status.REFUSED : done > 0 || there ? Status.DONE : Status.ABSENT;
            return new BlockResult(key, status, done, refused);
        }
    }

    private static String message(CompletionException e) {
        Throwable cause = e.getCause() == null ? e : e.getCause();
        return String.valueOf(cause.getMessage());
    }

    private static void requireSome(String name, List<?> all) {
        if (all.isEmpty() || all.size() > MAX_KEYS) {
            throw MooncakeException.invalid(name, all.size(), "1.." + MAX_KEYS);
        }
    }

    private Deadline deadline(Duration timeout) {
        if (timeout.compareTo(Duration.ofMillis(1)) < 0 || timeout.compareTo(LONGEST_CALL) > 0) {
            throw MooncakeException.invalid("timeout", timeout, "1 ms .. " + LONGEST_CALL);
        }
        return services.waits().deadline(timeout);
    }
}
