// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.peerloaded;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.testkit.MooncakeCluster;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A user's job whose class exists at the caller only. */
class PeerLoadedJobIT {
    @TempDir
    private Path folder;

    @Test
    void submit_jobClassOnlyAtCaller_isPeerLoaded() throws Exception {
        Path source = folder.resolve("user/Job.java");
        Files.createDirectories(source.getParent());
        Files.writeString(source, """
                package user;
                public record Job(String word) implements io.mooncake.ignite.RoutedJob<Job> {
                    public Job run(io.mooncake.ignite.JobContext context) {
                        return new Job(word + " on " + context.ignite().cluster().localNode().id()
                                + " by " + getClass().getClassLoader().getClass().getSimpleName());
                    }
                }
                """);
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-proc:none", "-cp", System.getProperty("java.class.path"), source.toString());
        assertThat(compiled).isZero();
        try (MooncakeCluster cluster = MooncakeCluster.builder()
                        .nodes(2)
                        .pools(MooncakeCluster.smallPool("tiny"))
                        .configure(config -> config.setPeerClassLoadingEnabled(true))
                        .plugin(provider -> provider.setJobClasses("user.*"))
                        .start();
                URLClassLoader loader = new URLClassLoader(
                        new URL[] {folder.toUri().toURL()}, PeerLoadedJobIT.class.getClassLoader())) {
            UUID second = cluster.nodeId(1);
            MooncakeCluster.await(
                    "the first node knows the second",
                    () -> cluster.node(0).storeNodes().contains(second));
            @SuppressWarnings("unchecked")
            RoutedJob<Object> job = (RoutedJob<Object>)
                    loader.loadClass("user.Job").getConstructor(String.class).newInstance("hello");

            Object answer = cluster.node(0)
                    .submit(Route.of("tiny", new int[] {1}).onNode(second), job)
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS);

            assertThat(answer.getClass()).isEqualTo(job.getClass());
            assertThat(answer.toString()).contains("hello on " + second).doesNotContain("URLClassLoader");
        }
    }
}
