// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.NativeBridge.Unavailable;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NativeLibraryTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64",
        "Linux, aarch64, linux-aarch_64",
        "Mac OS X, aarch64, osx-aarch_64",
        "Mac OS X, x86_64, osx-x86_64",
        "Linux, riscv64, linux-riscv64"
    })
    void platform_knownJvm_isTheClassifierOfTheBuild(String os, String arch, String platform) {
        assertThat(NativeLibrary.platform(os, arch)).isEqualTo(platform);
    }

    @Test
    void load_noLibraryForPlatform_saysSo() {
        assertThat(library(Map.of()).load()).isEqualTo(new Unavailable("the jar has no library for beos-m68k"));
    }

    @Test
    void load_leftOutByTheBuild_carriesTheBuildsReason() {
        assertThat(library(Map.of("unavailable.txt", "cmake was not installed when this jar was built\n"))
                        .load())
                .isEqualTo(new Unavailable("cmake was not installed when this jar was built"));
    }

    @Test
    void load_damagedLibrary_isUnavailableAndLeavesNothingBehind() throws IOException {
        assertThat(library(Map.of("libmooncake.so", "not an ELF file")).load())
                .isInstanceOfSatisfying(
                        Unavailable.class, u -> assertThat(u.reason()).startsWith("libmooncake.so: "));
        assertEmpty();
    }

    @Test
    void load_unwritableFolder_isUnavailable() {
        folder = folder.resolve("absent");
        assertThat(library(Map.of("libmooncake.so", "any")).load()).isInstanceOf(Unavailable.class);
    }

    @Test
    void availability_afterLoading_leavesNoCopyBehind() throws IOException {
        NativeBridge.availability();
        try (Stream<Path> left = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            assertThat(left.map(p -> p.getFileName().toString())).noneMatch(n -> n.startsWith("mooncake-bridge-"));
        }
    }

    private NativeLibrary library(Map<String, String> files) {
        return new NativeLibrary("beos-m68k", "libmooncake.so", name -> resource(files, name), folder);
    }

    private static InputStream resource(Map<String, String> files, String name) {
        String text = files.get(name.substring("/META-INF/native/beos-m68k/".length()));
        return text == null ? null : new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    private void assertEmpty() throws IOException {
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
    }
}
