// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The test's side of a libibverbs whose cards reach the GPUs of {@link FakeCuda} (verbs_fake.c); all else is the system's. Once installed it
 * is the library of this process until the end, so tests that use it have a JVM of their own.
 */
public final class FakeVerbs {
    public static final int EOPNOTSUPP = 95;

    private static final String LIBRARY = "verbs-fake";

    private static String path = "";
    private static Path modules = Path.of("");

    private FakeVerbs() {}

    /** Registrations of GPU memory, by their ways. */
    public record Registrations(long dmaBuf, long peerMemory) {
        public static final Registrations NONE = new Registrations(0, 0);
    }

    /** Whether this build has it, and the fake driver. */
    public static boolean available() {
        return FakeCuda.available() && TestLibrary.exists(LIBRARY);
    }

    /** Becomes the library, before anything else has asked for one. The fake driver must be installed. */
    public static synchronized void install() {
        if (path.isEmpty()) {
            path = TestLibrary.load(LIBRARY);
            System.setProperty(Verbs.LIBRARY_PROPERTY, path);
            try {
                modules = Files.createTempDirectory("modules");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            System.setProperty(Cuda.MODULES_PROPERTY, modules.toString());
        }
        behave(false, 0, 0);
    }

    /**
     * How registrations of GPU memory end from now on.
     *
     * @param peerMemoryModule whether the kernel module of peer memory is loaded
     * @param dmaBufError errno of those by dma-buf; 0: they succeed
     * @param peerMemoryError errno of those by address, where the module is loaded
     */
    public static void behave(boolean peerMemoryModule, int dmaBufError, int peerMemoryError) {
        try {
            Path module = modules.resolve("nvidia_peermem");
            if (peerMemoryModule) {
                Files.createDirectories(module);
            } else {
                Files.deleteIfExists(module);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        configure(peerMemoryModule, dmaBufError, peerMemoryError);
    }

    private static native void configure(boolean module, int dmaBufError, int peerMemoryError);

    /** What is registered now. */
    public static Registrations live() {
        long[] out = counts();
        return new Registrations(out[0], out[1]);
    }

    /** What has been registered since the last call of {@link #behave}. */
    public static Registrations made() {
        long[] out = counts();
        return new Registrations(out[2], out[3]);
    }

    private static long[] counts() {
        long[] out = new long[4];
        counts(out);
        return out;
    }

    private static native void counts(long[] out);
}
