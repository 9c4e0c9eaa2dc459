// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/**
 * Whether the C bridge is there, and why not when it is not.
 *
 * <p>The first query loads the library that fits this platform from the jar; later ones return what that found. This is the one static
 * state of the product: the JVM itself binds a native library to a class loader once, so per-instance state could not be true. The state
 * is immutable, so several nodes in one JVM share it safely. Never throws; safe for all threads.
 */
public final class NativeBridge {
    /** The C interface that these classes speak; BRIDGE_VERSION in bridge.c. */
    static final int EXPECTED_VERSION = 8;

    /** The outcome of loading the bridge. */
    public sealed interface Availability {}

    /**
     * The bridge is loaded.
     *
     * @param version the number of its C interface
     * @param platform the classifier of the library, for example {@code linux-x86_64}
     */
    public record Available(int version, String platform) implements Availability {}

    /**
     * The bridge cannot be used.
     *
     * @param reason one line for people: no library for this platform, no compiler at build time, a folder mounted noexec, ...
     */
    public record Unavailable(String reason) implements Availability {}

    private NativeBridge() {}

    /** Loads the bridge on the first call; the same answer ever after. */
    public static Availability availability() {
        return Holder.AVAILABILITY;
    }

    /** Whether the bridge is loaded. */
    public static boolean available() {
        return availability() instanceof Available;
    }

    // Lazy and once, by the class loader's own lock.
    private static final class Holder {
        static final Availability AVAILABILITY = load();

        private static Availability load() {
            NativeLibrary library = NativeLibrary.ofThisPlatform();
            Availability loaded = library.load();
            if (loaded instanceof Unavailable) {
                return loaded;
            }
            int version = NativeCalls.version();
            return version == EXPECTED_VERSION
                    ? new Available(version, library.platform())
                    : new Unavailable("bridge version: " + version + " (expected: " + EXPECTED_VERSION + ")");
        }
    }
}
