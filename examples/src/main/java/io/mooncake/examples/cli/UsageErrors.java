// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.config.ConfigurationNames;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Says what was wrong with a command line, and what else ended a command, in words for a person. */
public final class UsageErrors implements IParameterExceptionHandler, IExecutionExceptionHandler {
    /** A command failed: bad input found later than parsing, or a failed check. */
    public static final int FAILED = 1;
    /** The command line itself is wrong. */
    public static final int USAGE = 2;

    /** Wrong option or command: exit code {@link #USAGE}, the nearest valid name, never the whole help. */
    @Override
    public int handleParseException(ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        PrintWriter err = command.getErr();
        List<String> unmatched =
                e instanceof UnmatchedArgumentException wrong ? wrong.getUnmatched() : misspelt(command, args);
        if (!unmatched.isEmpty()) {
            err.println(unknown(command, unmatched.get(0)));
        } else {
            err.println(e.getMessage());
        }
        err.println("Try: " + command.getCommandSpec().qualifiedName(" ") + " --help");
        err.flush();
        return USAGE;
    }

    /** A {@link Refusal} or an error of the product is its message alone; anything else is a defect and keeps its stack trace. */
    @Override
    public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed) {
        PrintWriter err = command.getErr();
        if (e instanceof Refusal || e instanceof MooncakeException) {
            err.println(e.getMessage());
        } else {
            e.printStackTrace(err);
        }
        err.flush();
        return FAILED;
    }

    /** A misspelt option usually leaves a required one missing as well: the misspelling is what the person wants to hear of. */
    private static List<String> misspelt(CommandLine command, String[] args) {
        return Arrays.stream(args)
                .filter(given -> given.startsWith("--") && given.length() > 2)
                .filter(given -> command.getCommandSpec().findOption(given.split("=", 2)[0]) == null)
                .toList();
    }

    private static String unknown(CommandLine command, String given) {
        boolean option = given.startsWith("-");
        List<String> valid = new ArrayList<>();
        if (option) {
            command.getCommandSpec().options().forEach(known -> valid.addAll(List.of(known.names())));
        } else {
            valid.addAll(command.getSubcommands().keySet());
        }
        String name = option && given.indexOf('=') > 0 ? given.substring(0, given.indexOf('=')) : given;
        String what = option ? "Unknown option" : valid.isEmpty() ? "Unexpected argument" : "Unknown command";
        String place = command.getCommandSpec().qualifiedName(" ");
        Optional<String> nearest = ConfigurationNames.nearest(name, valid);
        String hint = nearest.map(near -> "; did you mean " + near + "?").orElse("");
        String expected = valid.isEmpty() ? "no argument" : String.join(", ", valid);
        return what + " of " + place + ": " + name + " (expected: " + expected + ")" + hint;
    }
}
