// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.ignite.config.IdentityText;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Which pool is meant by a name on this node. Nodes may have pools of one name with other weights: these are other pools. A plain name means this
 * node's own pool; where it has none, the pool that most nodes have under that name, of equal ones the one that was there first. Any of them is also
 * called {@code name@digest}, where the digest is {@link IdentityText#digest}.
 *
 * <p>Immutable.
 */
public final class PoolNames {
    /** Between a name and the digest of an identity; not part of any plain name. */
    private static final char DIGEST = '@';

    private final Map<String, Known> byName;

    private PoolNames(Map<String, Known> byName) {
        this.byName = byName;
    }

    /**
     * A pool that some node has.
     *
     * @param called what this node calls it: the plain name where that means it, else its id
     * @param plain what nodes that have it call it
     * @param id plain name and digest
     * @param identity its canonical text
     */
    private record Known(String called, String plain, String id, String identity) {}

    /**
     * @param own this node's pools: name to canonical identity text
     * @param members the same of all members, in the order in which they joined
     */
    public static PoolNames of(Map<String, String> own, List<Map<String, String>> members) {
        Map<String, Map<String, Integer>> counts = new HashMap<>();
        own.forEach((name, identity) -> count(counts, name, identity));
        members.forEach(pools -> pools.forEach((name, identity) -> count(counts, name, identity)));
        Map<String, Known> byName = new HashMap<>();
        counts.forEach((plain, identities) -> {
            String meant = own.getOrDefault(plain, most(identities));
            identities.keySet().forEach(identity -> {
                String id = id(plain, identity);
                Known pool = new Known(identity.equals(meant) ? plain : id, plain, id, identity);
                byName.put(id, pool);
                byName.put(pool.called(), pool);
            });
        });
        return new PoolNames(byName);
    }

    private static void count(Map<String, Map<String, Integer>> counts, String name, String identity) {
        counts.computeIfAbsent(name, first -> new LinkedHashMap<>()).merge(identity, 1, Integer::sum);
    }

    private static String most(Map<String, Integer> identities) {
        String most = "";
        int count = 0;
        for (Map.Entry<String, Integer> entry : identities.entrySet()) {
            if (entry.getValue() > count) {
                most = entry.getKey();
                count = entry.getValue();
            }
        }
        return most;
    }

    /** What the pool with that name and identity is called everywhere. */
    public static String id(String plain, String identity) {
        return plain + DIGEST + IdentityText.digest(identity);
    }

    /** The id of the pool that {@code pool} means; {@code pool} where nobody has it. */
    public String id(String pool) {
        Known known = byName.get(pool);
        return known == null ? pool : known.id();
    }

    /** What this node calls the pool that {@code pool} means; {@code pool} where nobody has it. */
    public String called(String pool) {
        Known known = byName.get(pool);
        return known == null ? pool : known.called();
    }

    /** What nodes that have the pool {@code pool} call it; {@code pool} where nobody has it. */
    public String plain(String pool) {
        Known known = byName.get(pool);
        return known == null ? pool : known.plain();
    }

    /** Whether some node has the pool {@code pool}. */
    public boolean known(String pool) {
        return byName.containsKey(pool);
    }

    /** Whether {@code member} has the very pool that {@code pool} means here, of the same weights. */
    public boolean has(Member member, String pool) {
        Known known = byName.get(pool);
        @Nullable String identity = known == null ? null : member.pools().get(known.plain());
        return known != null && known.identity().equals(identity);
    }

    /** What this node calls the pools that there are, sorted. */
    public Set<String> all() {
        Set<String> all = new TreeSet<>();
        byName.values().forEach(pool -> all.add(pool.called()));
        return all;
    }
}
