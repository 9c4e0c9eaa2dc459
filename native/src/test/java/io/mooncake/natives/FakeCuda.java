// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
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

    private static final String LIBRARY = "cuda-fake";
    private static final int COUNTS = 8;

    private static String path = "";

    private FakeCuda() {}

    /** What the driver has handed out and not got back. */
    public record Held(long deviceMemory, long pinned, long streams, long contexts, long copies) {
        public static final Held NOTHING = new Held(0, 0, 0, 0, 0);
    }

    /** Whether this build has the bridge and the fake driver. */
    public static boolean available() {
        return NativeBridge.available() && TestLibrary.exists(LIBRARY);
    }

    /** Becomes the driver, with two healthy GPUs. */
    public static synchronized void install() {
        if (path.isEmpty()) {
            path = TestLibrary.load(LIBRARY);
        }
        System.setProperty(Cuda.LIBRARY_PROPERTY, path);
        configure(2, true);
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

    /** The driver's attributes of what network cards write: which flushes there are, 1 for the host's, and how far they are in order anyway. */
    public static native void remoteWrites(int flushOptions, int ordering);

    /** How long each wait for a stream takes at least, those under way too. */
    public static native void slowWaits(int millis);

    public static Held held() {
        long[] out = counts();
        return new Held(out[0], out[1], out[2], out[3], out[4]);
    }

    private static long[] counts() {
        long[] out = new long[COUNTS];
        counts(out);
        return out;
    }

    /** Copies that the driver has made since {@link #configure}. */
    public static long copies() {
        return counts()[5];
    }

    /** How often writes of network cards were made visible since {@link #configure}. */
    public static long flushes() {
        return counts()[6];
    }

    /** Dma-bufs that the driver has made since {@link #configure}. */
    public static long exports() {
        return counts()[7];
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
