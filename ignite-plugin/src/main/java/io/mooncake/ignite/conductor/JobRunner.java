// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.conductor.NodeMeter;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.internal.NodeServices;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * Runs jobs that arrive on this node and counts them. Found by them in the node's local map under {@link #KEY}, because a job that
 * Ignite delivers knows nothing but its node.
 */
final class JobRunner {
    /** Key in the node-local map. */
    static final String KEY = "mooncake.jobs";

    private final NodeServices services;
    private final NodeMeter meter;
    private volatile boolean stopping;

    JobRunner(NodeServices services, NodeMeter meter) {
        this.services = services;
        this.meter = meter;
    }

    /** From now on, interrupted jobs say that their node stops. */
    void stop() {
        stopping = true;
    }

    RoutedOutcome run(RoutedCall call) {
        NodeMeter.Run run = meter.started(call.router(), call.computeTokens());
        try {
            Mooncake mooncake = services.mooncake();
            Object value = call.job().run(new NodeJobContext(mooncake, call.route(), call.decision(), run));
            run.completed();
            return RoutedOutcome.of(value);
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Throwable failure) {
            if (stopping) {
                return RoutedOutcome.failed(new MooncakeException(
                        MooncakeException.Code.PEER_UNREACHABLE,
                        "node " + call.decision().nodeId() + " stopped while it ran the request: " + failure));
            }
            return RoutedOutcome.failed(transportable(failure));
        } finally {
            run.close();
        }
    }

    /** {@code failure} itself, or where it cannot be serialised a MooncakeException with its text. */
    private static Throwable transportable(Throwable failure) {
        try (ObjectOutputStream out = new ObjectOutputStream(OutputStream.nullOutputStream())) {
            out.writeObject(failure);
            return failure;
        } catch (IOException | RuntimeException e) {
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace));
            return new MooncakeException(MooncakeException.Code.INTERNAL, "job failed: " + trace);
        }
    }
}
