// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.memory.ssd.SsdDevice.SsdFile;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Whole reads and writes out of a device's, which may be short. */
final class DeviceIo {
    private static final int PATIENCE = 4;

    private DeviceIo() {}

    /** Reads until {@code to} is full. */
    static void read(SsdFile file, ByteBuffer to, long offset) throws IOException {
        int start = to.position();
        int idle = 0;
        while (to.hasRemaining()) {
            int at = to.position();
            int done = file.read(to, offset + at - start);
            idle = progress("read", to, at, done) ? 0 : idle + 1;
            if (done < 0 || idle == PATIENCE) {
                throw new IOException("short read: " + (at - start) + " of " + (to.limit() - start) + " bytes");
            }
        }
        to.position(start);
    }

    /** Writes all of {@code from}. */
    static void write(SsdFile file, ByteBuffer from, long offset) throws IOException {
        int start = from.position();
        int idle = 0;
        while (from.hasRemaining()) {
            int at = from.position();
            int done = file.write(from, offset + at - start);
            idle = progress("write", from, at, done) ? 0 : idle + 1;
            if (done < 0 || idle == PATIENCE) {
                throw new IOException("short write: " + (at - start) + " of " + (from.limit() - start) + " bytes");
            }
        }
        from.position(start);
    }

    /** Goes on at a whole page, because direct I/O can't go on elsewhere; whether there was any progress. */
    private static boolean progress(String what, ByteBuffer buffer, int at, int done) throws IOException {
        if (done > buffer.limit() - at) {
            throw new IOException(what + " of " + done + " bytes (expected: at most " + (buffer.limit() - at) + ")");
        }
        int whole = done == buffer.limit() - at ? done : Math.max(0, done) & -SsdSettings.ALIGNMENT;
        buffer.position(at + whole);
        return whole > 0;
    }
}
