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
import io.mooncake.ignite.blocks.ActFrame.Action;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** {@link KvBlocks} over a node's pool, the index, and the holders. */
public final class ClusterBlocks implements KvBlocks {
    /** Of a fetch: what one lease takes. */
    private static final int BATCH_BLOCKS = 256;

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
        long stores = services.members().all().stream()
                .filter(member -> member.role() == io.mooncake.ignite.Role.STORE
                        && member.pools().containsKey(local.name()))
                .count();
        if (options.replicas() < 1 || options.replicas() > Math.max(1, stores)) {
            throw MooncakeException.invalid(
                    "replicas",
                    options.replicas(),
                    "1.." + Math.max(1, stores) + ", the nodes that hold pool " + local.name());
        }
        return new BlockPutter(services, pool, tenant).put(blocks, options.replicas(), deadline);
    }

    @Override
    public BlockSet get(List<BlockKey> keys, Duration timeout) {
        requireSome("keys", keys);
        Deadline deadline = deadline(timeout);
        List<@Nullable PinnedBlock> blocks = new ArrayList<>(Collections.nCopies(keys.size(), null));
        boolean done = false;
        try {
            pinHere(keys, blocks, deadline);
            Set<UUID> failed = new LinkedHashSet<>();
            boolean more = true;
            while (more && blocks.contains(null) && !deadline.expired()) {
                more = fetch(keys, blocks, failed, deadline);
                pinHere(keys, blocks, deadline);
            }
            List<BlockResult> results = new ArrayList<>(keys.size());
            for (int i = 0; i < keys.size(); i++) {
                Status missing = deadline.expired() && copies(keys.get(i)) > 0 ? Status.EXPIRED : Status.ABSENT;
                results.add(new BlockResult(
                        keys.get(i), blocks.get(i) == null ? missing : Status.FOUND, copies(keys.get(i)), ""));
            }
            done = true;
            return new BlockSet(results, blocks);
        } finally {
            if (!done) {
                blocks.forEach(ClusterBlocks::close);
            }
        }
    }

    private static void close(@Nullable PinnedBlock block) {
        if (block != null) {
            block.close();
        }
    }

    private void pinHere(List<BlockKey> keys, List<@Nullable PinnedBlock> blocks, Deadline deadline) {
        List<Integer> onSsd = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            if (blocks.get(i) == null) {
                blocks.set(i, local.pin(keys.get(i)));
                if (blocks.get(i) == null && pool.ssd() != null && pool.ssd().contains(keys.get(i))) {
                    onSsd.add(i);
                }
            }
        }
        if (pool.ssd() != null && !onSsd.isEmpty()) {
            List<@Nullable PinnedBlock> brought =
                    pool.ssd().pin(onSsd.stream().map(keys::get).toList(), deadline);
            for (int i = 0; i < onSsd.size(); i++) {
                blocks.set(onSsd.get(i), brought.get(i));
            }
        }
    }

    /** Asks one holder after the other for what it has of the rest; whether another round may bring more. */
    private boolean fetch(
            List<BlockKey> keys, List<@Nullable PinnedBlock> blocks, Set<UUID> failed, Deadline deadline) {
        Map<UUID, List<BlockKey>> byHolder = new LinkedHashMap<>();
        for (int i = 0; i < keys.size(); i++) {
            if (blocks.get(i) == null) {
                BlockKey key = keys.get(i);
                services.index().holders(local.name(), key).stream()
                        .filter(node -> !failed.contains(node))
                        .findFirst()
                        .ifPresent(node -> byHolder.computeIfAbsent(node, holder -> new ArrayList<>())
                                .add(key));
            }
        }
        for (Map.Entry<UUID, List<BlockKey>> entry : byHolder.entrySet()) {
            Optional<Member> holder = services.members().find(entry.getKey());
            List<BlockKey> wanted = entry.getValue();
            for (int from = 0; holder.isPresent() && from < wanted.size(); from += BATCH_BLOCKS) {
                List<MissReason> reasons = pool.take(
                        tenant,
                        wanted.subList(from, Math.min(wanted.size(), from + BATCH_BLOCKS)),
                        entry.getKey(),
                        holder.get().address(),
                        deadline);
                if (reasons.stream().anyMatch(reason -> reason != MissReason.NONE)) {
                    failed.add(entry.getKey());
                }
            }
            if (holder.isEmpty()) {
                failed.add(entry.getKey());
            }
        }
        return !byHolder.isEmpty();
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
        return services.index().holders(local.name(), key).size() + (here(key) ? 1 : 0);
    }

    private boolean here(BlockKey key) {
        return local.contains(key) || (pool.ssd() != null && pool.ssd().contains(key));
    }

    @Override
    public List<BlockResult> pinHard(List<BlockKey> keys, Duration timeout) {
        return pin(Action.PIN_HARD, keys, 0, timeout);
    }

    @Override
    public List<BlockResult> pinSoft(List<BlockKey> keys, Duration time, Duration timeout) {
        if (time.toMillis() < 1 || time.compareTo(LONGEST_PIN) > 0) {
            throw MooncakeException.invalid("pin time", time, "above 0, at most " + LONGEST_PIN);
        }
        return pin(Action.PIN_SOFT, keys, time.toMillis(), timeout);
    }

    /** One node a block: here, else the holders in turn. */
    private List<BlockResult> pin(Action action, List<BlockKey> keys, long millis, Duration timeout) {
        requireSome("keys", keys);
        Deadline deadline = deadline(timeout);
        List<BlockOutcome> here = BlockActs.here(services, new ActFrame(action, millis, local.name(), keys));
        List<BlockResult> results = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            results.add(
                    here.get(i) == BlockOutcome.ABSENT
                            ? pinElsewhere(action, keys.get(i), millis, deadline)
                            : new BlockResult(keys.get(i), Status.PINNED, copies(keys.get(i)), "on this node"));
        }
        return results;
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
                                deadline)
                        .join()
                        .get(0);
                if (outcome != BlockOutcome.ABSENT) {
                    return new BlockResult(key, Status.PINNED, copies(key), "on node " + node);
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
        return everywhere(Action.UNPIN, keys, timeout);
    }

    @Override
    public List<BlockResult> remove(List<BlockKey> keys, Duration timeout) {
        return everywhere(Action.REMOVE, keys, timeout);
    }

    /** All holders at once, each asked for what it has. */
    private List<BlockResult> everywhere(Action action, List<BlockKey> keys, Duration timeout) {
        requireSome("keys", keys);
        Deadline deadline = deadline(timeout);
        Map<UUID, List<Integer>> byHolder = new LinkedHashMap<>();
        for (int i = 0; i < keys.size(); i++) {
            for (UUID node : services.index().holders(local.name(), keys.get(i))) {
                byHolder.computeIfAbsent(node, holder -> new ArrayList<>()).add(i);
            }
        }
        Tally[] tallies = new Tally[keys.size()];
        for (int i = 0; i < tallies.length; i++) {
            tallies[i] = new Tally();
        }
        Map<UUID, CompletableFuture<List<BlockOutcome>>> asked = new LinkedHashMap<>();
        byHolder.forEach((node, indexes) -> services.members()
                .find(node)
                .ifPresent(member -> asked.put(
                        node,
                        BlockActs.there(
                                services,
                                member,
                                new ActFrame(
                                        action,
                                        0,
                                        local.name(),
                                        indexes.stream().map(keys::get).toList()),
                                deadline))));
        List<BlockOutcome> here = BlockActs.here(services, new ActFrame(action, 0, local.name(), keys));
        for (int i = 0; i < tallies.length; i++) {
            tallies[i].add(here.get(i), "this node");
        }
        asked.forEach((node, answer) -> {
            List<Integer> indexes = byHolder.getOrDefault(node, List.of());
            try {
                List<BlockOutcome> outcomes = answer.join();
                for (int i = 0; i < outcomes.size(); i++) {
                    tallies[indexes.get(i)].add(outcomes.get(i), "node " + node);
                }
            } catch (CompletionException e) {
                indexes.forEach(index -> tallies[index].refused = "node " + node + ": " + message(e));
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

    private static Deadline deadline(Duration timeout) {
        if (timeout.toMillis() < 1) {
            throw MooncakeException.invalid("timeout", timeout, "at least 1 ms");
        }
        return Deadline.of(timeout);
    }
}
