// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.ReuseMode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ModelExtensionTest {
    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("tiny.gguf");
        TinyLlama.write(file, 5);
        System.setProperty("mooncake.cache", folder.resolve("cache").toString());
    }

    @AfterEach
    void restore() {
        System.clearProperty("mooncake.cache");
    }

    private ModelExtension extension() {
        return new ModelExtension().setName("tiny").setUri("file:" + file);
    }

    @Test
    void load_ofATinyModel_servesItsPool() {
        ModelExtension extension = extension();
        extension.validate();
        PoolDefinition definition = extension.pools().get(0);
        KvIdentity identity = definition.identity();
        assertThat(definition.name()).isEqualTo("tiny");
        assertThat(definition.vocabulary()).isEqualTo(512);
        assertThat(identity.mode()).isEqualTo(ReuseMode.EXACT);
        assertThat(identity.engineLayout()).matches("djl-pytorch-2\\.7\\.1[^/]*/llama-1/t[0-9]+/.+/.+");
        assertThat(identity.rope()).isEqualTo("rope(base=10000.0,dims=16,scale=1.0,style=halves)");
        List<String> log = new ArrayList<>();
        extension.load(log::add);
        long bytes = LocalKvPool.blockStrideBytes(identity) * 8;
        try (MemoryRegion region = MemoryRegion.allocate(bytes);
                LocalKvPool pool = LocalKvPool.create("tiny", identity, 512, region, 0, bytes)) {
            int[] prompt = extension.tokenizer().encode("Once upon a time");
            GenerationRequest request = GenerationRequest.of(prompt).maxNewTokens(5);
            assertThat(extension
                            .engine()
                            .generate(request, pool, Deadline.ofMillis(60_000))
                            .tokens())
                    .hasSize(5);
        }
        extension.stop();
        extension.stop();
        assertThat(log).anyMatch(line -> line.contains("thread(s) a tensor operation"));
        assertThat(log).anyMatch(line -> line.contains("passed the self-test of KV reuse in"));
        assertThatThrownBy(extension::engine).hasMessageContaining("not started");
    }

    @Test
    void load_secondTime_remembersTheSelfTest() throws IOException {
        List<String> log = new ArrayList<>();
        ModelExtension first = extension();
        first.load(log::add);
        first.stop();
        ModelExtension second = extension();
        second.load(log::add);
        second.stop();
        assertThat(log).anyMatch(line -> line.contains("passed the self-test of KV reuse before"));
        try (var files = Files.list(folder.resolve("cache/selftest"))) {
            assertThat(files).hasSize(1);
        }
        ModelExtension other = extension().setBlockTokens(32);
        log.clear();
        other.load(log::add);
        other.stop();
        assertThat(log).noneMatch(line -> line.contains("before"));
    }

    @Test
    void identity_inFastMode_leavesOutThreadsAndProcessor() {
        KvIdentity identity = extension().setMode(ReuseMode.FAST).identity();
        assertThat(identity.engineLayout()).matches("djl-pytorch-2\\.7\\.1[^/]*/llama-1");
        assertThat(identity).isNotEqualTo(extension().identity());
    }

    /** Else the KV of other weights would be shared under the digest of the ones that were checked. */
    @Test
    void load_fileReplacedSinceTheCheck_isRefused() throws IOException {
        ModelExtension extension = extension();
        extension.validate();
        TinyLlama.write(file, 6);
        assertThatThrownBy(() -> extension.load(line -> {}))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isEqualTo(MooncakeException.Code.MODEL_REFUSED))
                .hasMessageContaining(extension.identity().modelDigest())
                .hasMessageContaining("as when the node was configured");
        assertThatThrownBy(extension::engine).hasMessageContaining("not started");
    }

    @Test
    void offHeapBytes_isWeightsAndOneLongestSequence() {
        long state = 2L * 4 * 2 * 16 * Float.BYTES;
        ModelExtension extension = extension().setContextTokens(1000);
        assertThat(extension.weightBytes()).isGreaterThan(500_000);
        assertThat(extension.offHeapBytes()).isEqualTo(extension.weightBytes() + 1000 * state);
    }

    @Test
    void validate_badShape_namesFileValueAndExpectation() throws IOException {
        Path bad = folder.resolve("bad.gguf");
        TinyLlama.writer(1, TinyLlama.Shape.standard())
                .put("llama.attention.key_length", 15)
                .write(bad);
        refused(extension().setUri(bad.toString()), bad.toString(), "ropeDims: 16 (expected: 2..15)");
        TinyLlama.writer(1, TinyLlama.Shape.standard())
                .tensor("blk.0.attn_k.bias", new float[32], 32)
                .write(bad);
        refused(extension().setUri(bad.toString()), bad.toString(), "without biases", "blk.0.attn_k.bias");
        TinyLlama.writer(1, new TinyLlama.Shape(1, 64, 4, 2, 128, 64, 10_000f, true))
                .tensor("output.weight", new float[64 * 100], 64, 100)
                .write(bad);
        refused(extension().setUri(bad.toString()), bad.toString(), "output.weight", "[64, 100]", "[64, 512]");
    }

    @Test
    void validate_badConfiguration_isRefusedNamingValueAndExpectation() throws IOException {
        refused(new ModelExtension().setName("tiny"), "model tiny: uri: missing (expected: a GGUF file");
        refused(extension().setName("a b"), "name: a b (expected: 1..64 letters");
        refused(extension().setUri("file:/nowhere/x.gguf"), "/nowhere/x.gguf", "missing");
        refused(extension().setUri(folder.toString()), folder.toString());
        refused(extension().setBlockTokens(0), "blockTokens: 0 (expected: 1..4096)");
        refused(extension().setThreads(-1), "threads: -1 (expected: 0..1024)");
        refused(extension().setContextTokens(9000), "contextTokens: 9000 (expected: at most the model's 4096)");
        refused(extension().setSha256("xyz"), "sha256: xyz (expected: 64 hexadecimal digits)");
        refused(extension().setSha256("0".repeat(64)), "SHA-256", "(expected: " + "0".repeat(64) + ")");
        Path cut = folder.resolve("cut.gguf");
        Files.write(cut, java.util.Arrays.copyOf(Files.readAllBytes(file), 100_000));
        refused(extension().setUri(cut.toString()), "cut.gguf");
        Path foreign = folder.resolve("foreign.gguf");
        Files.writeString(foreign, "PK not a model at all");
        refused(extension().setUri(foreign.toString()), "foreign.gguf");
        Path ntk = folder.resolve("ntk.gguf");
        TinyLlama.writer(1, TinyLlama.Shape.standard())
                .put("llama.rope.scaling.type", "dynamic")
                .write(ntk);
        refused(extension().setUri(ntk.toString()), "ntk.gguf: its KV cannot be shared", "dynamic NTK");
    }

    /** Within two seconds; the best of some tries, for on a busy machine the others' time counts, too. */
    private static void refused(ModelExtension extension, String... parts) {
        double best = Double.MAX_VALUE;
        for (int i = 0; i < 5 && best >= 2; i++) {
            long start = System.nanoTime();
            Throwable thrown = catchThrowable(extension::validate);
            best = Math.min(best, (System.nanoTime() - start) / 1e9);
            assertThat(thrown).isInstanceOf(MooncakeException.class);
            for (String part : parts) {
                assertThat(thrown).hasMessageContaining(part);
            }
        }
        assertThat(best).as("seconds").isLessThan(2);
    }
}
