// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.coreonly;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.TestPorts;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A class path with ignite-core and nothing else of Ignite: everything but SQL works. */
class CoreOnlyIT {
    private static final List<String> NOT_CORE =
            List.of("ignite-indexing", "ignite-spring", "ignite-slf4j", "/h2", "spring-", "lucene", "djl", "pytorch");

    @Test
    void start_coreAlone_poolAndRoutingWorkAndSqlSaysWhatIsMissing(@TempDir Path folder) throws Exception {
        int connector = TestPorts.free(10);
        try (ForkedJvm node = ForkedJvm.of(CoreOnlyNode.class.getName())
                .jvmArguments("-Xmx256m")
                .property("java.io.tmpdir", folder.toString())
                .classPath(entry -> NOT_CORE.stream().noneMatch(entry::contains))
                .arguments(Integer.toString(TestPorts.free(10)), Integer.toString(connector))
                .start()) {
            node.awaitLine("CORE OK", Duration.ofSeconds(120));

            // SQL is what it lacks, and the command says so.
            try (ForkedJvm sql = ForkedJvm.of("io.mooncake.examples.cli.Main")
                    .jvmArguments("-Xmx128m")
                    .property("mooncake.home", folder.toString())
                    .arguments("sql", "--port", Integer.toString(connector), "SELECT * FROM SYS.MOONCAKE_BLOCKS")
                    .start()) {
                assertThat(sql.exitCode(Duration.ofSeconds(120)))
                        .as(sql.output())
                        .isEqualTo(1);
                assertThat(sql.output()).contains("no SQL engine (expected: ignite-indexing or ignite-calcite");
            }
            node.terminate();
            node.exitCode(Duration.ofSeconds(60));
        }
    }
}
