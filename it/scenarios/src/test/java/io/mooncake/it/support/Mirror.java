// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/** What the SQL mirror shows. */
public final class Mirror {
    private Mirror() {}

    /** Tokens of the runs that the cluster holds, rising, whoever holds them; empty while the mirror is not there or cannot be asked. */
    public static List<Integer> tokens(Ignite node) {
        try {
            return node
                    .getOrCreateCache(new CacheConfiguration<Integer, Integer>("asked"))
                    .query(new SqlFieldsQuery("SELECT DISTINCT tokens FROM MOONCAKE.PREFIXES ORDER BY tokens"))
                    .getAll()
                    .stream()
                    .map(row -> (Integer) row.get(0))
                    .toList();
        } catch (IgniteException | javax.cache.CacheException e) {
            return List.of();
        }
    }

    /** A metric of the mirror on {@code node}; -1 where it cannot be asked. */
    public static long metric(Ignite node, String name) {
        try {
            List<List<?>> rows = node.getOrCreateCache(new CacheConfiguration<Integer, Integer>("asked"))
                    .query(new SqlFieldsQuery(
                                    "SELECT VALUE FROM SYS.METRICS WHERE NAME = 'mooncake.mirror." + name + "'")
                            .setLocal(true))
                    .getAll();
            return rows.isEmpty() ? -1 : Long.parseLong((String) rows.get(0).get(0));
        } catch (IgniteException | javax.cache.CacheException e) {
            return -1;
        }
    }
}
