// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.closure;

import io.mooncake.client.MooncakeService;
import java.util.stream.IntStream;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/** A program of somebody who has ignite-core and the client jar: asks the service everything and prints what it answers. */
public final class ThinCaller {
    private ThinCaller() {}

    /** Arguments: address of a node's client connector, name of a pool. */
    public static void main(String[] args) {
        try {
            Class.forName("io.mooncake.base.MooncakeException");
            throw new IllegalStateException("the class path holds more of ours than the client jar");
        } catch (ClassNotFoundException e) {
            // As it has to be.
        }
        int[] tokens = IntStream.range(0, 49).toArray();
        try (IgniteClient thin = Ignition.startClient(new ClientConfiguration().setAddresses(args[0]))) {
            MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
            System.out.println("EXPLAIN " + service.explain(args[1], tokens));
            System.out.println("ROUTE " + service.route(args[1], tokens));
            System.out.println("STATISTICS " + service.statistics());
            try {
                service.route("nowhere", tokens);
            } catch (ClientException e) {
                System.out.println("REFUSED " + e.getMessage());
            }
        }
        System.out.println("THIN OK");
    }
}
