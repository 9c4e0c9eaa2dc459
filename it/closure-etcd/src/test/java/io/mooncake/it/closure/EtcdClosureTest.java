// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.closure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What naming the metadata store for etcd brings. A new jar is a decision: it must be added to closure.txt. */
class EtcdClosureTest {
    private static final Pattern ARTIFACT =
            Pattern.compile("^\\s+([\\w.-]+):([\\w.-]+):jar:([\\w.-]+):(?:compile|runtime)\\b.*");

    private record Artifact(String group, String name, String version) {}

    @Test
    void runtimeClosure_ofTheEtcdStore_isTheListedJars() throws IOException {
        assertThat(found().stream()
                        .map(each -> each.group() + ":" + each.name())
                        .toList())
                .containsExactlyInAnyOrderElementsOf(listed());
    }

    @Test
    void families_ofNettyAndGrpc_areOfOneVersion() throws IOException {
        for (String group : List.of("io.netty", "io.grpc", "io.vertx", "io.etcd")) {
            assertThat(found().stream()
                            .filter(each -> each.group().equals(group))
                            .map(Artifact::version)
                            .distinct())
                    .as(group)
                    .hasSize(1);
        }
    }

    private static List<Artifact> found() throws IOException {
        return Files.readAllLines(Path.of("target", "closure.txt")).stream()
                .map(ARTIFACT::matcher)
                .filter(Matcher::matches)
                .map(each -> new Artifact(each.group(1), each.group(2), each.group(3)))
                .toList();
    }

    private static List<String> listed() throws IOException {
        try (var in = EtcdClosureTest.class.getResourceAsStream("/closure.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        }
    }
}
