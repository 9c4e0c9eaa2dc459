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

    static Iterable<MissRow> rows(Map<String, LocalKvPool> pools) {
        List<MissRow> rows = new ArrayList<>();
        pools.forEach((name, pool) -> {
            Map<MissReason, Long> misses = pool.stats().misses();
            for (MissReason reason : MissReason.values()) {
                rows.add(new MissRow(name, reason, misses.getOrDefault(reason, 0L)));
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

        @Override
        public void visitAll(AttributeVisitor visitor) {
            visitor.accept(0, "pool", String.class);
            visitor.accept(1, "reason", String.class);
            visitor.accept(2, "lookups", long.class);
        }

        @Override
        public void visitAll(MissRow row, AttributeWithValueVisitor visitor) {
            visitor.accept(0, "pool", String.class, row.pool());
            visitor.accept(1, "reason", String.class, row.reason().name());
            visitor.acceptLong(2, "lookups", row.lookups());
        }
    }
}
