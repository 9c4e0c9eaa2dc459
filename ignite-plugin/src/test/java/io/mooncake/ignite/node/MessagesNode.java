// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.TestGrid;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.ignite.Ignite;
import org.apache.ignite.configuration.IgniteConfiguration;

/** A server whose messages go over the engine, with a listener that keeps the numbers it is sent; also a process of its own. */
final class MessagesNode {
    static final String TOPIC = "numbers";
    static final int FAILURE_DETECTION_MILLIS = 30_000;

    /** What the nodes of this process have heard, in order. */
    static final List<Integer> HEARD = new CopyOnWriteArrayList<>();

    private MessagesNode() {}

    static TransferCommunicationSpi spi(TestGrid grid) {
        TransferCommunicationSpi spi = new TransferCommunicationSpi().setSecret(TestGrid.SECRET);
        spi.setTransferPortFrom(grid.ports() + 32).setTransferPortTo(grid.ports() + 63);
        spi.setMessagesOverEngine(true);
        spi.setLocalPort(grid.ports() + 16);
        spi.setLocalPortRange(15);
        return spi;
    }

    static void configure(TestGrid grid, IgniteConfiguration config) {
        config.setCommunicationSpi(spi(grid)).setFailureDetectionTimeout(FAILURE_DETECTION_MILLIS);
    }

    static void listen(Ignite node) {
        node.message().localListen(TOPIC, (from, message) -> {
            HEARD.add(number(message));
            return true;
        });
    }

    /** A number on its own, or at both ends of a large array. */
    static Object message(int number) {
        if (number % 40 != 0) {
            return number;
        }
        int[] large = new int[60_000 + number];
        large[0] = number;
        large[large.length - 1] = number;
        return large;
    }

    private static Integer number(Object message) {
        if (message instanceof int[] large) {
            return large[0] == large[large.length - 1] && large.length == 60_000 + large[0] ? large[0] : -1;
        }
        return (Integer) message;
    }

    /** Numbers heard here; runs as a job. */
    static int[] heard() {
        return HEARD.stream().mapToInt(Integer::intValue).toArray();
    }

    /** {@code args}: first port of the grid. Ends with its standard input. */
    public static void main(String[] args) throws Exception {
        TestGrid grid = new TestGrid(Integer.parseInt(args[0]));
        listen(grid.start("child", config -> configure(grid, config)));
        System.out.println("READY");
        while (System.in.read() >= 0) {
            Thread.onSpinWait();
        }
        Runtime.getRuntime().halt(0);
    }
}
