// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Home;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How a class of the benchmarks is run in a JVM of its own: this one's class path and flags, a heap of one size, and a log in the folder of logs. */
public final class JavaCommand {
    private JavaCommand() {}

    /**
     * The command.
     *
     * @param name of the process, and of its log
     * @param heap for example {@code 512m}
     * @param direct most of direct memory, in the same form
     * @param options more of the JVM's
     */
    public static List<String> of(
            String name, String heap, String direct, List<String> options, Class<?> main, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Home.folder("jvm.args"),
                "-Xms" + heap,
                "-Xmx" + heap,
                "-XX:MaxDirectMemorySize=" + direct,
                "-Dmooncake.home=" + Home.root(),
                "-Dlogback.configurationFile=logback-file.xml",
                "-Dmooncake.log.file=" + Home.folder("target/bench/logs/" + name + ".log")));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(arguments);
        return List.copyOf(command);
    }
}
