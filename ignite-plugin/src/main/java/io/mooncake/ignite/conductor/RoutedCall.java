// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.ignite.adapter.PeerDeployable;
import java.util.Objects;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.jspecify.annotations.Nullable;

/**
 * The envelope that carries a request to the chosen node: the one class of ours that crosses nodes. The request inside is bytes, because
 * Ignite's binary form takes no records, and users' jobs and results may be or hold some. Under peer class loading it deploys as the
 * user's class, whose loader the node then reads the bytes with.
 */
final class RoutedCall implements IgniteCallable<byte[]>, PeerDeployable {
    private static final long serialVersionUID = 1L;

    private final UUID node;
    private final byte[] request;
    // Where the call was made only: what peer class loading asks for.
    private final transient @Nullable Object job;

    @IgniteInstanceResource
    private transient @Nullable Ignite ignite;

    /** @param request a serialised {@link RoutedRequest} whose job is {@code job} */
    RoutedCall(UUID node, byte[] request, Object job) {
        this.node = node;
        this.request = request;
        this.job = job;
    }

    @Override
    public Object payload() {
        return Objects.requireNonNullElse(job, this);
    }

    /** A serialised {@link RoutedRequest.Outcome}. */
    @Override
    public byte[] call() throws IgniteCheckedException {
        Ignite here = ignite;
        if (here != null && here.cluster().nodeLocalMap().get(JobRunner.KEY) instanceof JobRunner runner) {
            return runner.run(request, Thread.currentThread().getContextClassLoader());
        }
        throw new ClusterTopologyException("node " + node + " runs no jobs: it is starting or stopping");
    }
}
