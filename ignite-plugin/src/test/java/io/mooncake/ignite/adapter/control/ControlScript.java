// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.ignite.internal.commandline.CommandHandler;
import org.apache.ignite.logger.NullLogger;

/** Ignite's control script, as {@code control.sh} runs it. */
public final class ControlScript {
    private ControlScript() {}

    /** What a run of the script ended with. */
    public record Run(int code, List<String> lines) {}

    /** Runs {@code --mooncake} and {@code command} through the connector on port {@code connector} of this machine. */
    public static Run run(int connector, String... command) throws Exception {
        return run(List.of(), connector, command);
    }

    /** The same as the user {@code user}. */
    public static Run runAs(String user, String password, int connector, String... command) throws Exception {
        return run(List.of("--user", user, "--password", password), connector, command);
    }

    /** The script names the thread that runs it, so it has one of its own. */
    private static Run run(List<String> login, int connector, String... command) throws Exception {
        List<String> arguments = Stream.of(
                        List.of("--host", "127.0.0.1", "--port", Integer.toString(connector)),
                        login,
                        List.of("--mooncake"),
                        Arrays.asList(command))
                .flatMap(List::stream)
                .toList();
        Callable<Run> script = () -> {
            CommandHandler handler = new CommandHandler(new NullLogger());
            int code = handler.execute(arguments);
            List<String> lines = code == 0 ? handler.getLastOperationResult() : List.of();
            return new Run(code, lines);
        };
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            return thread.submit(script).get(120, TimeUnit.SECONDS);
        } finally {
            thread.shutdownNow();
        }
    }
}
