// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Versions of the product, of what it stands on, and the commit it was built from. */
public final class Versions {
    private Versions() {}

    /** The product's version, for example {@code 0.1.0-SNAPSHOT}. */
    public static String product() {
        return read().getProperty("version", "unknown");
    }

    /** Versions of the libraries the product was built with, by name. */
    public static Map<String, String> libraries() {
        Map<String, String> libraries = new TreeMap<>();
        read().forEach((name, version) -> libraries.put(name.toString(), version.toString()));
        libraries.remove("version");
        return libraries;
    }

    /** The commit that is checked out in {@code home}, with {@code -dirty} when tracked files differ; {@code unknown} where git cannot say. */
    public static String commit(Path home) {
        try {
            Process git = new ProcessBuilder("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
                    .directory(home.toFile())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            git.getOutputStream().close();
            String text = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            boolean ended = git.waitFor(5, TimeUnit.SECONDS);
            return ended && git.exitValue() == 0 && !text.isEmpty() ? text : "unknown";
        } catch (IOException e) {
            return "unknown";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "unknown";
        }
    }

    private static Properties read() {
        Properties properties = new Properties();
        try (InputStream in = Versions.class.getResourceAsStream("/io/mooncake/examples/version.properties")) {
            if (in == null) {
                throw new IOException("version.properties is not on the class path");
            }
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties;
    }
}
