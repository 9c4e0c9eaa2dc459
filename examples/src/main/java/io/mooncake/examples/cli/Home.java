// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import java.nio.file.Path;

/** Folders the commands use. */
public final class Home {
    private Home() {}

    /** The repository: system property {@code mooncake.home}, else the working folder. */
    public static Path root() {
        return Path.of(System.getProperty("mooncake.home", "")).toAbsolutePath().normalize();
    }

    /** A folder below {@link #root()}. */
    public static Path folder(String relative) {
        return root().resolve(relative);
    }

    /** Where downloads are kept: {@code MOONCAKE_CACHE}, else {@code ~/.cache/mooncake}. */
    public static Path cache() {
        String cache = System.getenv("MOONCAKE_CACHE");
        return cache == null || cache.isEmpty()
                ? Path.of(System.getProperty("user.home"), ".cache", "mooncake")
                : Path.of(cache);
    }

    /** The model that the demo uses when none is named. */
    public static Path defaultModel() {
        return cache().resolve("models").resolve("SmolLM2-135M-Instruct.Q4_1.gguf");
    }
}
