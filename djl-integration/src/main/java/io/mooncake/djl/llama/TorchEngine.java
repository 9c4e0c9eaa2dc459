// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.pytorch.engine.PtEngine;
import ai.djl.pytorch.jni.JniUtils;
import ai.djl.util.Utils;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * The PyTorch engine of this process. Its thread count is one for the whole process and is fixed when the engine loads, so several nodes in
 * one JVM share it.
 */
public final class TorchEngine {
    private static final String THREADS = "ai.djl.pytorch.num_threads";
    private static final String INTEROP_THREADS = "ai.djl.pytorch.num_interop_threads";

    /** By these, the libraries behind matrix products are told to use other kernels. */
    private static final List<String> KERNEL_VARIABLES =
            List.of("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA");

    private static final Duration UNPACK_TIMEOUT = Duration.ofMinutes(3);

    // One engine a process is DJL's rule; it keeps it in a static of its own.
    private static @Nullable Engine loaded;

    private TorchEngine() {}

    /**
     * The engine, loaded at the first call with the threads chosen by {@link #chooseThreads}, or one.
     *
     * <p>The first load on a machine unpacks 450 MB into DJL's cache folder. Processes that start together would delete each other's half
     * of it, so they take turns by a file lock.
     *
     * @throws MooncakeException CONFIGURATION when the native library cannot be loaded, another process holds the lock for long, or the engine
     *     runs with other threads than {@link #threads()} says
     */
    static synchronized Engine get() {
        if (System.getProperty(THREADS) == null) {
            System.setProperty(THREADS, "1");
        }
        if (System.getProperty(INTEROP_THREADS) == null) {
            System.setProperty(INTEROP_THREADS, "1");
        }
        if (loaded == null) {
            loaded = load();
        }
        requireThreads();
        return loaded;
    }

    /** Exact pools promise bits that depend on the threads: what they declare must be what runs. */
    private static void requireThreads() {
        int running = JniUtils.getNumThreads();
        if (running != threads()) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "PyTorch engine: " + running
                            + " thread(s) a tensor operation, fixed when something else in this process"
                            + " loaded it (expected: " + threads() + ", as the model's pool declares; set -D" + THREADS
                            + "="
                            + threads() + " at the start)");
        }
    }

    private static Engine load() {
        Path folder = Utils.getEngineCacheDir("pytorch");
        try {
            Files.createDirectories(folder);
            try (FileChannel channel = FileChannel.open(
                            folder.resolve("mooncake.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = lock(channel, Deadline.of(UNPACK_TIMEOUT))) {
                if (!lock.isValid()) {
                    throw new IOException("the lock was lost");
                }
                return Engine.getEngine(PtEngine.ENGINE_NAME);
            }
        } catch (IOException | EngineException e) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "PyTorch engine in " + folder + ": " + e.getMessage()
                            + " (expected: a writable folder and the native library on the class path)",
                    e);
        }
    }

    private static FileLock lock(FileChannel channel, Deadline deadline) throws IOException {
        while (true) {
            FileLock lock = channel.tryLock();
            if (lock != null) {
                return lock;
            }
            if (deadline.expired()) {
                throw new IOException("another process unpacks since " + UNPACK_TIMEOUT.toSeconds() + " s");
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while another process unpacks", e);
            }
        }
    }

    /**
     * Fixes the threads of one tensor operation for this process. The first caller decides.
     *
     * @return the threads in force, which are others' choice where somebody chose before
     */
    public static synchronized int chooseThreads(int threads) {
        if (threads < 1 || threads > 1024) {
            throw MooncakeException.invalid("threads", threads, "1..1024");
        }
        if (System.getProperty(THREADS) == null) {
            System.setProperty(THREADS, Integer.toString(threads));
        }
        return threads();
    }

    /** Threads of one tensor operation. */
    public static int threads() {
        return Integer.getInteger(THREADS, 1);
    }

    /** Version of the native library, for example {@code 2.7.1}. Does not load it. */
    public static String version() {
        String override = System.getenv("PYTORCH_VERSION");
        if (override != null) {
            return override;
        }
        try (var in = TorchEngine.class.getResourceAsStream("/native/lib/pytorch.properties")) {
            if (in == null) {
                return "unknown";
            }
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }

    /**
     * Which kernels this processor gets, for example {@code avx512/AuthenticAMD-25-17}, and what the environment says about them: two
     * machines that differ here may round differently.
     */
    public static String processor() {
        List<String> lines;
        try {
            lines = Files.readAllLines(Path.of("/proc/cpuinfo"), StandardCharsets.UTF_8);
        } catch (IOException e) {
            lines = List.of();
        }
        return processor(lines, System.getenv());
    }

    static String processor(List<String> cpuinfo, Map<String, String> environment) {
        Map<String, String> info = new HashMap<>();
        for (String line : cpuinfo) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                info.putIfAbsent(
                        line.substring(0, colon).strip(),
                        line.substring(colon + 1).strip());
            }
        }
        StringBuilder name = new StringBuilder(kernels(" " + info.getOrDefault("flags", "") + " "));
        String forced = environment.get("ATEN_CPU_CAPABILITY");
        if (forced != null) {
            name = new StringBuilder(forced.toLowerCase(Locale.ROOT));
        }
        name.append('/').append(first(info, System.getProperty("os.arch", "unknown"), "vendor_id", "CPU implementer"));
        name.append('-').append(first(info, "0", "cpu family", "CPU architecture"));
        name.append('-').append(first(info, "0", "model", "CPU part"));
        for (String variable : KERNEL_VARIABLES) {
            if (environment.containsKey(variable)) {
                name.append('/').append(variable).append('=').append(environment.get(variable));
            }
        }
        return name.toString();
    }

    private static String kernels(String flags) {
        boolean avx2 = flags.contains(" avx2 ") && flags.contains(" fma ");
        boolean avx512 = avx2
                && flags.contains(" avx512f ")
                && flags.contains(" avx512vl ")
                && flags.contains(" avx512bw ")
                && flags.contains(" avx512dq ");
        return avx512 ? "avx512" : avx2 ? "avx2" : "default";
    }

    /** The value of the first name that is there: x86 and ARM call them differently. */
    private static String first(Map<String, String> info, String fallback, String... names) {
        for (String name : names) {
            if (info.containsKey(name)) {
                return info.get(name);
            }
        }
        return fallback;
    }
}
