// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import java.nio.file.Path;

/** Where the logs of this process go. */
public final class LogFile {
    private LogFile() {}

    /**
     * Sends all logs of this process to {@code file} unless the process was started with a choice of its own. Must come before the first
     * logger is made: it sets the system properties that Logback reads then.
     */
    public static void use(Path file) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-file.xml");
            System.setProperty("mooncake.log.file", file.toString());
        }
        // Else Ignite writes its banner and every topology change to standard output.
        System.setProperty("IGNITE_QUIET", "false");
    }
}
