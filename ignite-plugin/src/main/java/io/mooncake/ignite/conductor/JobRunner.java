// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.conductor.NodeMeter;
import io.mooncake.ignite.adapter.IgniteAdapter;
import io.mooncake.ignite.internal.NodeServices;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.apache.ignite.IgniteCheckedException;
import org.jspecify.annotations.Nullable;

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

    /** Whether this node stops. */
    boolean stopping() {
        return stopping;
    }

    /**
     * Runs a serialised {@link RoutedRequest}.
     *
     * @param loader finds the job's classes; null for this class's own
     * @return a serialised {@link RoutedRequest.Outcome}
     * @throws MooncakeException DENIED when a class in it is not one of {@code jobClasses}
     * @throws IgniteCheckedException when the request cannot be read here, for example because a class of the job is missing
     */
    byte[] run(byte[] bytes, @Nullable ClassLoader loader) throws IgniteCheckedException {
        IgniteAdapter adapter = services.adapter();
        ClassLoader classes = loader == null ? JobRunner.class.getClassLoader() : loader;
        RoutedRequest request =
                adapter.unmarshal(bytes, classes, services.settings().jobClasses());
        RoutedRequest.Outcome outcome = run(request);
        try {
            return adapter.marshal(outcome);
        } catch (IgniteCheckedException | RuntimeException e) {
            return adapter.marshal(new RoutedRequest.Outcome(null, stuck(outcome, e)));
        }
    }

    private RoutedRequest.Outcome run(RoutedRequest request) {
        NodeMeter.Run run = meter.started(request.router(), request.computeTokens());
        try {
            Object value = request.job()
                    .run(new NodeJobContext(services.mooncake(), request.route(), request.decision(), run));
            run.completed();
            return new RoutedRequest.Outcome(value, null);
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Throwable failure) {
            Throwable told = stopping
                    ? new MooncakeException(
                            MooncakeException.Code.PEER_UNREACHABLE,
                            "node " + request.decision().nodeId() + " stopped while it ran the request: " + failure)
                    : failure;
            return new RoutedRequest.Outcome(null, told);
        } finally {
            run.close();
        }
    }

    /** What the caller hears when the outcome itself cannot travel. */
    private static MooncakeException stuck(RoutedRequest.Outcome outcome, Exception why) {
        Throwable failure = outcome.failure();
        if (failure == null) {
            Object value = outcome.value();
            return new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "job's result: "
                            + (value == null ? "null" : value.getClass().getName()) + " (expected: serialisable; " + why
                            + ")");
        }
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        return new MooncakeException(MooncakeException.Code.INTERNAL, "job failed: " + trace);
    }
}
