// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The texts of the demo: the handbook of a bicycle rental that does not exist, its desks, and what its guests ask. */
public final class Handbook {
    private Handbook() {}

    /** The handbook as the desk {@code name}, which lies {@code place}, has it: about 1,200 tokens, without an end of line at its end. */
    public static String text(String name, String place) {
        return resource("handbook.txt")
                .replace("{desk}", name)
                .replace("{place}", place)
                .strip();
    }

    /** The lines of {@code file} that are not blank. */
    static List<String> lines(String file) {
        return resource(file).lines().filter(line -> !line.isBlank()).toList();
    }

    private static String resource(String name) {
        try (InputStream in = Handbook.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException(name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
