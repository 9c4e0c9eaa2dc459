// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.TestGrid;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A user's job whose class exists at the caller only. */
class PeerLoadedJobTest {
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
        try (TestGrid grid = new TestGrid();
                URLClassLoader loader = new URLClassLoader(
                        new URL[] {folder.toUri().toURL()}, PeerLoadedJobTest.class.getClassLoader())) {
            Ignite first = peer(grid, "first");
            Ignite second = peer(grid, "second");
            TestGrid.await("the first node knows the second", () -> Mooncake.of(first)
                    .storeNodes()
                    .contains(second.cluster().localNode().id()));
            @SuppressWarnings("unchecked")
            RoutedJob<Object> job = (RoutedJob<Object>)
                    loader.loadClass("user.Job").getConstructor(String.class).newInstance("hello");

            Object answer = Mooncake.of(first)
                    .submit(
                            Route.of("tiny", new int[] {1})
                                    .onNode(second.cluster().localNode().id()),
                            job)
                    .toCompletableFuture()
                    .get(30, TimeUnit.SECONDS);

            assertThat(answer.getClass()).isEqualTo(job.getClass());
            assertThat(answer.toString())
                    .contains("hello on " + second.cluster().localNode().id())
                    .doesNotContain("URLClassLoader");
        }
    }

    private static Ignite peer(TestGrid grid, String name) {
        return grid.start(
                name, config -> config.setPeerClassLoadingEnabled(true).setPluginProviders(grid.provider()));
    }
}
