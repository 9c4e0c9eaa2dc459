// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.plainnode;

import java.util.Arrays;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * A node of somebody who has never heard of this product: it runs without any class of ours. Joins, uses caches, SQL and compute, says
 * {@code PLAIN OK}, and stays until its standard input ends.
 */
public final class PlainNode {
    private PlainNode() {}

    /** Arguments: {@code server|client}, discovery address. */
    public static void main(String[] args) throws Exception {
        boolean client = args[0].equals("client");
        IgniteConfiguration config = new IgniteConfiguration()
                .setIgniteInstanceName("plain-" + args[0])
                .setLocalHost("127.0.0.1")
                .setClientMode(client)
                .setWorkDirectory(System.getProperty("java.io.tmpdir"))
                .setMetricsLogFrequency(0)
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setLocalPort(Integer.parseInt(args[1].replaceAll(".*[:.]", "")))
                        .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(Arrays.asList(args[1]))));
        try (Ignite ignite = Ignition.start(config)) {
            System.out.println("PLAIN JOINED " + ignite.cluster().nodes().size());
            IgniteCache<Integer, String> cache = ignite.getOrCreateCache(
                    new CacheConfiguration<Integer, String>("plain").setIndexedTypes(Integer.class, String.class));
            for (int i = 0; i < 500; i++) {
                cache.put(i, "value " + i);
            }
            for (int i = 0; i < 500; i++) {
                if (!("value " + i).equals(cache.get(i))) {
                    throw new IllegalStateException("cache lost " + i);
                }
            }
            Object count = cache.query(new SqlFieldsQuery("select count(*) from String"))
                    .getAll()
                    .get(0)
                    .get(0);
            if (!count.equals(500L)) {
                throw new IllegalStateException("SQL counts " + count);
            }
            // Compute among plain nodes only: the others lack this class, as it is not peer-loaded.
            ignite.compute(ignite.cluster().forLocal()).run(() -> System.out.println("PLAIN COMPUTE"));
            System.out.println("PLAIN OK");
            while (System.in.read() >= 0) {
                // Stays until the test closes the pipe.
            }
        }
        System.out.println("PLAIN STOPPED");
    }
}
