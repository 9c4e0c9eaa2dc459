// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.examples.cli.Refusal;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The Spring XML that we ship, read as a node reads it, up to the point where Ignite would start. */
final class ConfigFilesTest {
    @TempDir
    private static Path folder;

    @BeforeEach
    void set() throws Exception {
        Path model = folder.resolve("tiny.gguf");
        if (!Files.exists(model)) {
            TinyLlama.write(model, 7);
        }
        System.setProperty("mooncake.secret", "0123456789abcdef");
        System.setProperty("mooncake.model", model.toUri().toString());
        System.setProperty("mooncake.threads", "1");
    }

    @AfterEach
    void clear() {
        for (String name : new String[] {"secret", "model", "threads", "dram", "mode", "ssd", "ssd.capacity"}) {
            System.clearProperty("mooncake." + name);
        }
    }

    private static void check(String name) {
        SpringFile file = SpringFile.read(Path.of("config", name));
        try {
            PluginCheck.run(file);
        } finally {
            file.context().close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo-node.xml", "demo-client.xml", "plugin-engine-node.xml"})
    void check_shippedFile_isAccepted(String name) {
        check(name);
    }

    @ParameterizedTest
    @CsvSource({
        "secret,short,secret: 5 characters",
        "dram,8GB,dram: 8GB",
        "dram,900TiB,dram: 900TiB",
        "ssd,/nowhere/ssd,ssd.path: /nowhere/ssd (expected: an existing directory",
        "model,file:/nowhere/m.gguf,/nowhere/m.gguf",
        "mode,QUICK,property mode: QUICK (expected: one of EXACT, FAST)"
    })
    void check_wrongValue_isRefusedByFileAndValue(String property, String value, String named) {
        System.setProperty("mooncake." + property, value);
        assertThatThrownBy(() -> check("demo-node.xml"))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("demo-node.xml")
                .hasMessageContaining(named);
    }

    @Test
    void check_folderForTheSsd_isTakenWithItsCapacity() {
        System.setProperty("mooncake.ssd", folder.toString());
        check("demo-node.xml");
        System.setProperty("mooncake.ssd.capacity", "1B");
        assertThatThrownBy(() -> check("demo-node.xml")).hasMessageContaining("ssd.capacity: 1B");
    }

    @Test
    void check_truncatedModel_isRefused() throws Exception {
        byte[] whole = Files.readAllBytes(folder.resolve("tiny.gguf"));
        Path cut = Files.write(folder.resolve("cut.gguf"), java.util.Arrays.copyOf(whole, whole.length / 2));
        System.setProperty("mooncake.model", cut.toString());
        assertThatThrownBy(() -> check("demo-node.xml"))
                .hasMessageContaining(cut.toString())
                .hasMessageContaining("truncated");
        assertThat(cut).exists();
    }
}
