// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.examples.cli.Refusal;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteSpring;
import org.apache.ignite.IgniteState;
import org.apache.ignite.Ignition;

/**
 * A started node. It stops on {@link #close()}, or by itself, for example when it was cut from the cluster.
 *
 * <p>Threading: any.
 */
public final class RunningNode implements AutoCloseable {
    private final Ignite ignite;
    private final CountDownLatch stopped = new CountDownLatch(1);

    private RunningNode(Ignite ignite) {
        this.ignite = ignite;
    }

    /**
     * Starts the node of {@code file}.
     *
     * @throws Refusal when Ignite or the plugin refuses to start; the message is the innermost reason
     */
    public static RunningNode start(SpringFile file) {
        try {
            Ignite ignite = IgniteSpring.start(file.configuration(), file.context());
            RunningNode node = new RunningNode(ignite);
            Ignition.addListener((stoppedName, state) -> {
                boolean own = java.util.Objects.equals(stoppedName, ignite.name());
                if (own
                        && (state == IgniteState.STOPPED
                                || state == IgniteState.STOPPED_ON_SEGMENTATION
                                || state == IgniteState.STOPPED_ON_FAILURE)) {
                    node.stopped.countDown();
                }
            });
            return node;
        } catch (IgniteCheckedException | IgniteException | MooncakeException e) {
            throw new Refusal(file.path() + ": the node does not start: " + reason(e), e);
        }
    }

    /** The node. */
    public Ignite ignite() {
        return ignite;
    }

    /** One line for people and programs that wait for it: name, id, port of JDBC and thin clients, size of the cluster. */
    public String readyLine(long startedMillis) {
        Object port = ignite.cluster().localNode().attribute("clientListenerPort");
        return String.format(
                Locale.ROOT,
                "READY %s id=%s jdbc=%s nodes=%d start=%d ms",
                ignite.name(),
                ignite.cluster().localNode().id(),
                port == null ? "none" : port,
                ignite.cluster().nodes().size(),
                startedMillis);
    }

    /** Waits until the node has stopped. */
    public void awaitStop() throws InterruptedException {
        stopped.await();
    }

    /** Stops the node and waits for what it is doing. Idempotent. */
    @Override
    public void close() {
        Ignition.stop(ignite.name(), false);
    }

    /** The innermost message of our own, else the innermost of all. */
    static String reason(Throwable error) {
        Throwable root = error;
        Throwable ours = null;
        for (Throwable link = error; link != null; link = link.getCause()) {
            root = link;
            if (link instanceof MooncakeException) {
                ours = link;
            }
        }
        Throwable told = ours == null ? root : ours;
        return told.getMessage() == null ? told.getClass().getName() : told.getMessage();
    }
}
