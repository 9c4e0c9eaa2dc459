// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.MooncakeException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Starts a cluster for each test that asks for one, and closes it after the test. */
final class MooncakeClusterExtension implements ParameterResolver {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(MooncakeClusterExtension.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == MooncakeCluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        MooncakeTest wanted = context.getRequiredTestClass().getAnnotation(MooncakeTest.class);
        if (wanted == null) {
            throw MooncakeException.invalid(
                    "test class", context.getRequiredTestClass().getName(), "annotated with @MooncakeTest");
        }
        // The store closes what it holds when the test's context ends.
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent("cluster", key -> new Closing(start(wanted)), Closing.class)
                .cluster();
    }

    private static MooncakeCluster start(MooncakeTest wanted) {
        MooncakeCluster.Builder builder = MooncakeCluster.builder()
                .nodes(wanted.nodes())
                .clients(wanted.clients())
                .dram(wanted.dram())
                .seed(wanted.seed())
                .communicationSpi(wanted.communicationSpi());
        if (!wanted.model()) {
            builder.pools(MooncakeCluster.smallPool(MooncakeCluster.MODEL));
        }
        return builder.start();
    }

    private record Closing(MooncakeCluster cluster) implements ExtensionContext.Store.CloseableResource {
        @Override
        public void close() {
            cluster.close();
        }
    }
}
