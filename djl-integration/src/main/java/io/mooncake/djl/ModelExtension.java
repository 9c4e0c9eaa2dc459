// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.djl.cache.SelfTest;
import io.mooncake.djl.gguf.GgufFile;
import io.mooncake.djl.llama.LlamaConfig;
import io.mooncake.djl.llama.LlamaGguf;
import io.mooncake.djl.llama.LlamaIdentity;
import io.mooncake.djl.llama.LlamaModel;
import io.mooncake.djl.llama.TorchEngine;
import io.mooncake.djl.text.ChatTemplate;
import io.mooncake.djl.text.Tokenizer;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A named model on a node: a bean of the plugin's {@code extensions}. Brings the pool of the same name, loads the weights once, runs the
 * self-test of KV reuse once a machine, and offers {@link #engine()} to jobs.
 *
 * <pre>{@code
 * <bean class="io.mooncake.djl.ModelExtension">
 *   <property name="name" value="smollm2"/>
 *   <property name="uri" value="file:models/SmolLM2-135M-Instruct.Q4_1.gguf"/>
 * </bean>
 * }</pre>
 *
 * <p>Threads: a tensor operation uses {@code threads}, or max(1, processors / {@code nodesOnHost}) where that is 0. They are one number for
 * a whole process, decided by the first model in it; how many nodes share the host is not known before joining a cluster, so {@code
 * nodesOnHost} comes from the property or from the environment variable MOONCAKE_NODES_ON_HOST, else it is 1.
 *
 * <p>Threading: setters before start by one thread; everything else is safe for all threads.
 */
public final class ModelExtension implements NodeExtension {
    private static final int DEFAULT_CONTEXT = 8192;
    private static final int RESERVED_TOKENS = 2048;
    private static final String NODES_ON_HOST = "MOONCAKE_NODES_ON_HOST";

    private String name = "";
    private String uri = "";
    private String sha256 = "";
    private ReuseMode mode = ReuseMode.EXACT;
    private int blockTokens = 64;
    private int threads;
    private int nodesOnHost;
    private int contextTokens;
    private boolean selfTest = true;

    private @Nullable Header header;
    private @Nullable LlamaModel model;
    private @Nullable ChatEngine engine;

    /** What the file says, read once. */
    private record Header(
            LlamaConfig config,
            KvSemantics semantics,
            KvIdentity identity,
            Tokenizer tokenizer,
            @Nullable ChatTemplate template,
            long weightBytes) {}

    /** Name of the model and of its pool, required. */
    public ModelExtension setName(String value) {
        name = value;
        return this;
    }

    /** Its GGUF file: {@code file:models/x.gguf}, {@code file:///models/x.gguf} or a path; required. */
    public ModelExtension setUri(String value) {
        uri = value;
        return this;
    }

    /** SHA-256 that the file must have, 64 hexadecimal digits; empty for any. */
    public ModelExtension setSha256(String value) {
        sha256 = value;
        return this;
    }

    /** Which KV may be shared; exact by default. */
    public ModelExtension setMode(ReuseMode value) {
        mode = value;
        return this;
    }

    /** Tokens a block, and a prefill chunk in exact mode; 64 by default, 1..4096. */
    public ModelExtension setBlockTokens(int value) {
        blockTokens = value;
        return this;
    }

    /** Threads a tensor operation, 0..1024; 0, the default, shares the processors among the host's nodes. */
    public ModelExtension setThreads(int value) {
        threads = value;
        return this;
    }

    /** Nodes that share this host, 0..1024; 0, the default, asks MOONCAKE_NODES_ON_HOST, else 1. */
    public ModelExtension setNodesOnHost(int value) {
        nodesOnHost = value;
        return this;
    }

    /** Longest sequence served, in tokens; 0, the default, is the model's own limit but 8,192 at most. */
    public ModelExtension setContextTokens(int value) {
        contextTokens = value;
        return this;
    }

    /** Whether the self-test of KV reuse runs; on by default. */
    public ModelExtension setSelfTest(boolean value) {
        selfTest = value;
        return this;
    }

    @Override
    public String name() {
        return name;
    }

    /** Reads the header and the digest; the weights stay on disk. */
    @Override
    public synchronized void validate() {
        if (header == null) {
            header = read();
        }
    }

    private Header read() {
        requireRange("blockTokens", blockTokens, 1, 4096);
        requireRange("threads", threads, 0, 1024);
        requireRange("nodesOnHost", nodesOnHost, 0, 1024);
        requireRange("contextTokens", contextTokens, 0, 1 << 24);
        if (!name.matches("[A-Za-z0-9._-]{1,64}")) {
            throw refused("name", name, "1..64 letters, digits, '.', '_' or '-'");
        }
        if (!sha256.matches("|[0-9a-fA-F]{64}")) {
            throw refused("sha256", sha256, "64 hexadecimal digits");
        }
        try (GgufFile file = GgufFile.open(path())) {
            LlamaGguf gguf = new LlamaGguf(file);
            LlamaConfig config = limit(gguf.config());
            gguf.semantics().requireReusable(file.path().toString(), config.contextTokens());
            Tokenizer tokenizer = Tokenizer.of(file.metadata());
            ChatTemplate template = file.metadata().contains("tokenizer.chat_template")
                    ? ChatTemplate.of(file.metadata(), tokenizer)
                    : null;
            String digest = file.sha256();
            if (!sha256.isEmpty() && !sha256.equalsIgnoreCase(digest)) {
                throw new MooncakeException(
                        Code.MODEL_REFUSED, file.path() + ": SHA-256 " + digest + " (expected: " + sha256 + ")");
            }
            TorchEngine.chooseThreads(chosenThreads());
            KvIdentity identity = LlamaIdentity.of(config, digest, tokenizer.digest(), mode, blockTokens);
            return new Header(config, gguf.semantics(), identity, tokenizer, template, gguf.weightBytes());
        }
    }

    private LlamaConfig limit(LlamaConfig config) {
        if (contextTokens > config.contextTokens()) {
            throw refused("contextTokens", contextTokens, "at most the model's " + config.contextTokens());
        }
        int most = contextTokens == 0 ? Math.min(DEFAULT_CONTEXT, config.contextTokens()) : contextTokens;
        return config.withContext(most);
    }

    private Path path() {
        if (uri.isEmpty()) {
            throw refused("uri", "missing", "a GGUF file, for example file:models/x.gguf");
        }
        try {
            if (uri.startsWith("file:/")) {
                return Path.of(URI.create(uri));
            }
            return Path.of(uri.startsWith("file:") ? uri.substring("file:".length()) : uri);
        } catch (IllegalArgumentException e) {
            throw refused("uri", uri, "a path or a file: URI; " + e.getMessage());
        }
    }

    /** What {@code threads} and {@code nodesOnHost} come to. */
    private int chosenThreads() {
        return threads > 0 ? threads : Math.max(1, Runtime.getRuntime().availableProcessors() / nodes());
    }

    private int nodes() {
        String environment = System.getenv(NODES_ON_HOST);
        if (nodesOnHost > 0 || environment == null || environment.isEmpty()) {
            return Math.max(1, nodesOnHost);
        }
        if (!environment.matches("[1-9][0-9]{0,3}")) {
            throw refused("environment " + NODES_ON_HOST, environment, "1..9999");
        }
        return Integer.parseInt(environment);
    }

    private void requireRange(String property, int value, int min, int max) {
        if (value < min || value > max) {
            throw refused(property, value, min + ".." + max);
        }
    }

    private MooncakeException refused(String property, Object value, String expected) {
        return new MooncakeException(
                Code.CONFIGURATION, "model " + name + ": " + property + ": " + value + " (expected: " + expected + ")");
    }

    @Override
    public List<PoolDefinition> pools() {
        Header known = header();
        return List.of(new PoolDefinition(name, known.identity(), known.config().vocabulary()));
    }

    @Override
    public void start(Mooncake mooncake) {
        load(line -> mooncake.ignite().log().info(line));
    }

    /** Loads the weights and proves that KV may be reused, without a node. Idempotent. */
    public synchronized void load(Consumer<String> log) {
        Header known = header();
        if (model != null) {
            return;
        }
        long start = System.nanoTime();
        try (GgufFile file = GgufFile.open(path())) {
            requireUnchanged(file, known);
            model = LlamaModel.load(new LlamaGguf(file), known.config(), blockTokens);
        }
        log.accept(String.format(
                "Model %s: %s loaded in %.1f s, %d MiB of weights, %d thread(s) a tensor operation (%d processors, %d"
                        + " node(s) on this host), %s mode, blocks of %d tokens",
                name,
                path(),
                (System.nanoTime() - start) / 1e9,
                known.weightBytes() >> 20,
                TorchEngine.threads(),
                Runtime.getRuntime().availableProcessors(),
                nodes(),
                mode,
                blockTokens));
        try {
            if (selfTest) {
                prove(known, model, log);
            }
            engine = new ChatEngine(model, known.identity());
            engine.reserve(RESERVED_TOKENS);
        } catch (RuntimeException e) {
            stop();
            throw e;
        }
    }

    /** Other weights under the digest that was read before would share their KV with nodes that have the right ones. */
    private static void requireUnchanged(GgufFile file, Header known) {
        String digest = file.sha256();
        if (!digest.equals(known.identity().modelDigest())) {
            throw new MooncakeException(
                    Code.MODEL_REFUSED,
                    file.path() + ": SHA-256 " + digest + " (expected: "
                            + known.identity().modelDigest() + ", as when the node was configured)");
        }
    }

    private void prove(Header known, LlamaModel loaded, Consumer<String> log) {
        SelfTestMemory memory = SelfTestMemory.standard();
        if (memory.passed(known.identity())) {
            log.accept("Model " + name + ": passed the self-test of KV reuse before");
            return;
        }
        SelfTest.Report report;
        try (var predictor = loaded.newPredictor()) {
            report = SelfTest.run(
                    predictor,
                    BlockLayout.of(known.identity()),
                    known.config().vocabulary(),
                    known.config().contextTokens());
        }
        report.requirePassed(name);
        log.accept(String.format(
                "Model %s: passed the self-test of KV reuse in %.1f s, largest relative difference %.2g",
                name, report.seconds(), report.largestDifference()));
        try {
            memory.remember(known.identity(), report.largestDifference(), report.seconds());
        } catch (UncheckedIOException e) {
            log.accept("Model " + name + ": the passed self-test cannot be remembered: " + e.getMessage());
        }
    }

    @Override
    public synchronized void stop() {
        if (engine != null) {
            engine.close();
            engine = null;
        }
        if (model != null) {
            model.close();
            model = null;
        }
    }

    private synchronized Header header() {
        validate();
        if (header == null) {
            throw new MooncakeException(Code.INTERNAL, "model " + name + ": no header after validation");
        }
        return header;
    }

    /** What its blocks mean. */
    public KvIdentity identity() {
        return header().identity();
    }

    /** What the model declares about its KV. */
    public KvSemantics semantics() {
        return header().semantics();
    }

    /** Its tokenizer; there before start. */
    public Tokenizer tokenizer() {
        return header().tokenizer();
    }

    /** Its chat template; there before start. @throws MooncakeException NOT_FOUND where the file has none */
    public ChatTemplate chatTemplate() {
        ChatTemplate template = header().template();
        if (template == null) {
            throw new MooncakeException(Code.NOT_FOUND, "model " + name + ": its file has no chat template");
        }
        return template;
    }

    /** Weights and one sequence of the longest context: what it comes to hold besides its pool. */
    @Override
    public long offHeapBytes() {
        LlamaConfig config = header().config();
        long keysAndValues = 2L * config.layers() * config.kvHeads() * config.headSize() * Float.BYTES;
        return weightBytes() + keysAndValues * config.contextTokens();
    }

    /** Memory of its weights, in bytes; known before start. */
    public long weightBytes() {
        return header().weightBytes();
    }

    /** The loaded decoder. @throws MooncakeException ILLEGAL_STATE before start and after stop */
    public LlamaModel model() {
        return started(model);
    }

    /** Generates with reuse. @throws MooncakeException ILLEGAL_STATE before start and after stop */
    public ChatEngine engine() {
        return started(engine);
    }

    private <T> T started(@Nullable T part) {
        if (part == null) {
            throw new MooncakeException(
                    Code.ILLEGAL_STATE, "model " + name + ": not started (expected: a started node)");
        }
        return part;
    }
}
