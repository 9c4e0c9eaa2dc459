// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Libraries that are built for tests alone. */
final class TestLibrary {
    private TestLibrary() {}

    /** Whether this build has it. */
    static boolean exists(String name) {
        return TestLibrary.class.getResource(resource(name)) != null;
    }

    private static String resource(String name) {
        return "/META-INF/native-test/"
                + NativeLibrary.platform(System.getProperty("os.name"), System.getProperty("os.arch")) + "/"
                + System.mapLibraryName(name);
    }

    /** Loads it for good; where it lies, for the bridge to open it by name. */
    static String load(String name) {
        try (InputStream library = TestLibrary.class.getResourceAsStream(resource(name))) {
            Path folder = Files.createTempDirectory(name);
            Path copy = folder.resolve(System.mapLibraryName(name));
            Files.copy(library, copy);
            // The bridge opens it at any time until the end.
            copy.toFile().deleteOnExit();
            folder.toFile().deleteOnExit();
            String path = copy.toAbsolutePath().toString();
            System.load(path);
            return path;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
