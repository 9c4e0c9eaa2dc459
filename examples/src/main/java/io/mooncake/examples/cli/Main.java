// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import io.mooncake.examples.demo.DemoCommand;
import io.mooncake.examples.doctor.DoctorCommand;
import io.mooncake.examples.node.NodeCommand;
import io.mooncake.examples.sql.SqlCommand;
import io.mooncake.examples.topology.TopologyCommand;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Entry point of the commands that run Java. Exit codes: 0 done, 1 failed or refused, 2 wrong command line, 3 a node stopped that
 * nobody had told to.
 */
@Command(
        name = "mooncake",
        description = "A KV cache pool for LLM inference on Apache Ignite.",
        subcommands = {
            NodeCommand.class,
            DemoCommand.class,
            SqlCommand.class,
            DoctorCommand.class,
            TopologyCommand.class,
            HelpCommand.class
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class)
public final class Main implements Runnable {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli before run
    private CommandSpec spec;

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
    }

    /** Runs a command line; {@code out} and {@code err} get what picocli itself prints. */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        UsageErrors errors = new UsageErrors();
        return new CommandLine(new Main())
                .setOut(out)
                .setErr(err)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(errors)
                .setExecutionExceptionHandler(errors)
                .execute(args);
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "A command is missing (expected: "
                        + String.join(", ", spec.subcommands().keySet()) + ")");
    }
}
