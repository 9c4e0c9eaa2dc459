// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Names the running kernel, never an address: two machines may use one address, and one machine many.
 */
public final class HostIdentity {
    private static final String OWN = read();

    private HostIdentity() {}

    /** The boot id of this kernel, or empty where it has none; then nothing is shared. */
    public static String own() {
        return OWN;
    }

    private static String read() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
