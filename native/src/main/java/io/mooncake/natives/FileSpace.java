// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.io.IOException;
import java.nio.file.Path;

/** Room on a device for a file that is yet to be written. */
public final class FileSpace {
    private FileSpace() {}

    /**
     * Allocates the blocks of the first {@code bytes} of an existing file, so that no write into them can meet a full disk; they read as
     * zeros. May take as long as writing them where the file system has no call for it.
     *
     * @return false without the native bridge: nothing was done
     * @throws IOException when there is no room, or the file can't be opened
     */
    public static boolean allocate(Path file, long bytes) throws IOException {
        if (!NativeBridge.available()) {
            return false;
        }
        int error = NativeCalls.fileAllocate(file.toString(), bytes);
        if (error != 0) {
            throw new IOException(file + ": " + bytes + " bytes can't be allocated, error " + error
                    + (error == 28 ? ", no space left" : error == 122 ? ", quota exceeded" : ""));
        }
        return true;
    }
}
