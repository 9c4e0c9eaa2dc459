// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MissReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.ignite.spi.systemview.view.SystemViewRowAttributeWalker;

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

    /** Shows Ignite the columns. */
    static final class Walker implements SystemViewRowAttributeWalker<MissRow> {
        @Override
        public int count() {
            return 3;
        }

        /** At least one, or Ignite's H2 engine does not make the view. */
        @Override
        public List<String> filtrableAttributes() {
            return List.of(REASON, POOL);
        }

        @Override
        public void visitAll(AttributeVisitor visitor) {
            visitor.accept(0, POOL, String.class);
            visitor.accept(1, REASON, String.class);
            visitor.accept(2, "lookups", long.class);
        }

        @Override
        public void visitAll(MissRow row, AttributeWithValueVisitor visitor) {
            visitor.accept(0, POOL, String.class, row.pool());
            visitor.accept(1, REASON, String.class, row.reason().name());
            visitor.acceptLong(2, "lookups", row.lookups());
        }
    }
}
