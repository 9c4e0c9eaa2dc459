// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The test's side of a CUDA driver that has no GPU (cuda_fake.c). Between {@link #install} and {@link #uninstall} it is the driver of this
 * process; the library itself stays loaded.
 */
public final class FakeCuda {
    /** For {@link #fail}: until {@link #heal}. */
    public static final int ALWAYS = -1;

    public static final int INVALID_VALUE = 1;
    public static final int OUT_OF_MEMORY = 2;
    public static final int ILLEGAL_ADDRESS = 700;

    private static boolean loaded;
    private static String path = "";

    private FakeCuda() {}

    /** What the driver has handed out and not got back. */
    public record Held(long deviceMemory, long pinned, long streams, long contexts, long copies) {
        public static final Held NOTHING = new Held(0, 0, 0, 0, 0);
    }

    /** Whether this build has the bridge and the fake driver. */
    public static boolean available() {
        return NativeBridge.available() && FakeCuda.class.getResource(resource()) != null;
    }

    private static String resource() {
        return "/META-INF/native-test/"
                + NativeLibrary.platform(System.getProperty("os.name"), System.getProperty("os.arch")) + "/"
                + System.mapLibraryName("cuda-fake");
    }

    /** Becomes the driver, with two healthy GPUs. */
    public static synchronized void install() {
        if (!loaded) {
            load();
            loaded = true;
        }
        System.setProperty(Cuda.LIBRARY_PROPERTY, path);
        configure(2, true);
    }

    private static void load() {
        try (InputStream library = FakeCuda.class.getResourceAsStream(resource())) {
            Path folder = Files.createTempDirectory("fake-cuda");
            Path copy = folder.resolve(System.mapLibraryName("cuda-fake"));
            Files.copy(library, copy);
            // The bridge opens it by name, at any time until the end.
            copy.toFile().deleteOnExit();
            folder.toFile().deleteOnExit();
            path = copy.toAbsolutePath().toString();
            System.load(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The system's driver again. */
    public static void uninstall() {
        System.clearProperty(Cuda.LIBRARY_PROPERTY);
    }

    /** How many GPUs there are, and whether they export dma-bufs; forgets all faults. */
    public static native void configure(int devices, boolean dmaBuf);

    /** Makes {@code times} calls of that name fail, after {@code after} more that do not. */
    public static void fail(String call, int after, int times, int error) {
        failCalls(call, after, times, error);
    }

    /** No call fails any more. */
    public static void heal() {
        healAll();
    }

    private static native void failCalls(String call, int after, int times, int error);

    private static native void healAll();

    /** How long each wait for a stream takes at least. */
    public static native void slowWaits(int millis);

    public static Held held() {
        long[] out = new long[6];
        counts(out);
        return new Held(out[0], out[1], out[2], out[3], out[4]);
    }

    /** Copies that the driver has made since {@link #configure}. */
    public static long copies() {
        long[] out = new long[6];
        counts(out);
        return out[5];
    }

    /** Descriptors of dma-bufs that this process has open. */
    public static long openDmaBufs() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(one -> {
                        try {
                            return Files.readSymbolicLink(one).toString().contains("fake-dma-buf");
                        } catch (IOException e) {
                            return false;
                        }
                    })
                    .count();
        }
    }

    private static native void counts(long[] out);

    /** Puts bytes of the host into device memory. */
    public static void poke(long deviceAddress, long hostAddress, long bytes) {
        require(peekOrPoke(true, deviceAddress, hostAddress, bytes));
    }

    /** Takes bytes out of device memory. */
    public static void peek(long deviceAddress, long hostAddress, long bytes) {
        require(peekOrPoke(false, deviceAddress, hostAddress, bytes));
    }

    private static void require(boolean inside) {
        if (!inside) {
            throw new AssertionError("no device memory there");
        }
    }

    private static native boolean peekOrPoke(boolean poke, long address, long host, long bytes);
}
