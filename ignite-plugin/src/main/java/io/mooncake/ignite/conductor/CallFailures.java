// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Route;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteClientDisconnectedException;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.compute.ComputeTaskCancelledException;
import org.apache.ignite.compute.ComputeTaskTimeoutException;
import org.apache.ignite.lang.IgniteFutureCancelledException;
import org.apache.ignite.lang.IgniteFutureTimeoutException;

/** Says what a failure of Ignite Compute means for the request. */
final class CallFailures {
    private static final int MAX_CAUSES = 32;

    private CallFailures() {}

    /** The exception that the caller gets for {@code failure} of a request sent to {@code node}. */
    static RuntimeException of(Throwable failure, Ignite ignite, UUID node, Route route) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < MAX_CAUSES; i++, cause = cause.getCause()) {
            if (cause instanceof MooncakeException ours) {
                return ours;
            }
            if (cause instanceof ComputeTaskTimeoutException || cause instanceof IgniteFutureTimeoutException) {
                return new MooncakeException(
                        MooncakeException.Code.DEADLINE_EXCEEDED,
                        "request on node " + node + ": no answer within " + route.timeout(),
                        failure);
            }
            if (cause instanceof ClusterTopologyException) {
                return lost(node, failure);
            }
            if (cause instanceof IgniteClientDisconnectedException) {
                return new MooncakeException(
                        MooncakeException.Code.PEER_UNREACHABLE, "this client lost its cluster", failure);
            }
            if (cause instanceof ComputeTaskCancelledException || cause instanceof IgniteFutureCancelledException) {
                return new CancellationException("request on node " + node);
            }
        }
        if (isGone(ignite, node)) {
            return lost(node, failure);
        }
        return new MooncakeException(
                MooncakeException.Code.INTERNAL,
                "request on node " + node + " failed in transport: " + failure,
                failure);
    }

    /** What a caller gets whose own node stops: Ignite cancels its requests. */
    static MooncakeException stopping(Throwable failure) {
        return new MooncakeException(
                MooncakeException.Code.PEER_UNREACHABLE, "this node stops and no longer waits for the answer", failure);
    }

    private static MooncakeException lost(UUID node, Throwable failure) {
        return new MooncakeException(
                MooncakeException.Code.PEER_UNREACHABLE,
                "node " + node + " left the cluster before it answered; the request may be sent again",
                failure);
    }

    private static boolean isGone(Ignite ignite, UUID node) {
        try {
            return ignite.cluster().node(node) == null;
        } catch (IllegalStateException e) {
            // This node is stopping.
            return true;
        }
    }
}
