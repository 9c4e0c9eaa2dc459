// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MissReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A row of {@code SYS.MOONCAKE_MISSES}: how many look-ups of a pool ended for one reason; {@code NONE} counts those that missed nothing.
 *
 * @param pool name of the pool
 * @param reason why they ended
 * @param lookups how many, since the pool was made
 */
public record MissRow(String pool, MissReason reason, long lookups) {
    static final String VIEW = "mooncake.misses";
    static final String DESCRIPTION = "Look-ups of this node's pools by the reason their match ended for.";
    private static final String POOL = "pool";
    private static final String REASON = "reason";
    static final Columns<MissRow> COLUMNS = new Columns<MissRow>(REASON, POOL)
            .text(POOL, MissRow::pool)
            .text(REASON, row -> row.reason().name())
            .number("lookups", MissRow::lookups);

    /** The rows that pass {@code filter}: values by column. */
    static Iterable<MissRow> rows(Map<String, LocalKvPool> pools, Map<String, Object> filter) {
        Object wantedReason = filter.get(REASON);
        Object wantedPool = filter.get(POOL);
        List<MissRow> rows = new ArrayList<>();
        pools.forEach((name, pool) -> {
            if (wantedPool == null || name.equals(wantedPool)) {
                Map<MissReason, Long> misses = pool.stats().misses();
                for (MissReason reason : MissReason.values()) {
                    if (wantedReason == null || reason.name().equals(wantedReason)) {
                        rows.add(new MissRow(name, reason, misses.getOrDefault(reason, 0L)));
                    }
                }
            }
        });
        return rows;
    }
}
