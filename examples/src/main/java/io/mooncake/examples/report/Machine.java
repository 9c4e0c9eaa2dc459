// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What a result was measured on.
 *
 * @param cpu model name of the processor
 * @param cores processors the JVM may use
 * @param memoryBytes memory of the machine or container
 * @param os name and version of the distribution
 * @param kernel name, release and architecture
 * @param java vendor and version of the virtual machine
 * @param libraries versions the product was built with
 */
public record Machine(
        String cpu, int cores, long memoryBytes, String os, String kernel, String java, Map<String, String> libraries) {

    /** This machine. */
    public static Machine local() {
        OperatingSystemMXBean os = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return new Machine(
                field(Path.of("/proc/cpuinfo"), "model name", ":", System.getProperty("os.arch")),
                Runtime.getRuntime().availableProcessors(),
                os.getTotalMemorySize(),
                field(Path.of("/etc/os-release"), "PRETTY_NAME", "=", System.getProperty("os.name")),
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"),
                System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"),
                Versions.libraries());
    }

    private static String field(Path file, String name, String separator, String otherwise) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.filter(line -> line.startsWith(name) && line.contains(separator))
                    .map(line ->
                            line.substring(line.indexOf(separator) + 1).strip().replace("\"", ""))
                    .filter(value -> !value.isEmpty())
                    .findFirst()
                    .orElse(otherwise);
        } catch (IOException e) {
            return otherwise;
        }
    }
}
