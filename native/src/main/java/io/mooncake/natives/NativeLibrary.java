// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.natives.NativeBridge.Availability;
import io.mooncake.natives.NativeBridge.Available;
import io.mooncake.natives.NativeBridge.Unavailable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One platform's library inside the jar: {@code META-INF/native/<platform>/libmooncake.so}, or {@code unavailable.txt} with the reason
 * why the build left it out.
 *
 * <p>Loading copies it to a fresh folder that only this user may enter and deletes the copy at once: the mapping keeps the file alive, so
 * nothing is left behind even by a kill.
 */
final class NativeLibrary {
    private final String platform;
    private final String fileName;
    private final Function<String, @Nullable InputStream> resources;
    private final Path temporaryFolder;

    NativeLibrary(
            String platform, String fileName, Function<String, @Nullable InputStream> resources, Path temporaryFolder) {
        this.platform = platform;
        this.fileName = fileName;
        this.resources = resources;
        this.temporaryFolder = temporaryFolder;
    }

    /** The library of the running JVM's platform, from this class's jar, copied below {@code java.io.tmpdir}. */
    static NativeLibrary ofThisPlatform() {
        return new NativeLibrary(
                platform(System.getProperty("os.name", ""), System.getProperty("os.arch", "")),
                System.mapLibraryName("mooncake"),
                NativeLibrary.class::getResourceAsStream,
                Path.of(System.getProperty("java.io.tmpdir", "/tmp")));
    }

    /** The classifier as os-maven-plugin writes it at build time. */
    static String platform(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "");
        String arch = osArch.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "");
        String osPart = os.startsWith("macos") || os.startsWith("osx") ? "osx" : os;
        String archPart =
                switch (arch) {
                    case "amd64", "x8664", "x64" -> "x86_64";
                    case "aarch64", "arm64" -> "aarch_64";
                    default -> arch;
                };
        return osPart + "-" + archPart;
    }

    String platform() {
        return platform;
    }

    /** Loads the library; the version in the answer is not checked yet. */
    Availability load() {
        String folder = "/META-INF/native/" + platform + "/";
        try (InputStream library = resources.apply(folder + fileName)) {
            if (library != null) {
                return loadCopy(library);
            }
            return new Unavailable(reasonIn(folder));
        } catch (UnsatisfiedLinkError e) {
            return new Unavailable(fileName + ": " + e.getMessage());
        } catch (IOException e) {
            // The message alone is often only a path.
            return new Unavailable(fileName + ": " + e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    private String reasonIn(String folder) throws IOException {
        try (InputStream reason = resources.apply(folder + "unavailable.txt")) {
            return reason == null
                    ? "the jar has no library for " + platform
                    : new String(reason.readAllBytes(), StandardCharsets.UTF_8).strip();
        }
    }

    private Availability loadCopy(InputStream library) throws IOException {
        // The JDK creates the folder for the owner only (rwx), so nobody else can swap the copy.
        Path folder = Files.createTempDirectory(temporaryFolder, "mooncake-bridge-");
        Path copy = folder.resolve(fileName);
        try {
            Files.copy(library, copy);
            System.load(copy.toAbsolutePath().toString());
            return new Available(NativeBridge.EXPECTED_VERSION, platform);
        } finally {
            Files.deleteIfExists(copy);
            Files.deleteIfExists(folder);
        }
    }
}
