// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The files of one store. Everything the store writes or reads passes here, and nothing is known here of what it means, so that tests put a
 * device that fails, tears and forgets under the store that ships. Safe for all threads.
 */
interface SsdDevice extends AutoCloseable {
    /** Names of the files there are. */
    List<String> names() throws IOException;

    /** Opens a file for reading and writing. */
    SsdFile open(String name) throws IOException;

    /**
     * Makes a file of {@code bytes} bytes that are allocated on the device, and its name durable. One of that name is replaced.
     *
     * @throws IOException when there is no room, among others; then no file of that name is left
     */
    SsdFile create(String name, long bytes) throws IOException;

    /** Removes a file; nothing happens when it is not there. */
    void delete(String name) throws IOException;

    /** Whether the file system has room for {@code bytes} more below the limit of its use. */
    boolean hasRoom(long bytes) throws IOException;

    /** Whether I/O goes past the page cache. */
    boolean direct();

    @Override
    void close();

    /** An open file. Buffers are direct, page-aligned and whole pages long; so are offsets. */
    interface SsdFile extends AutoCloseable {
        /** Its size. */
        long bytes() throws IOException;

        /** Reads into what is left of {@code to}; how many bytes, which may be fewer, or -1 at the end. */
        int read(ByteBuffer to, long offset) throws IOException;

        /** Writes what is left of {@code from}; how many bytes, which may be fewer. */
        int write(ByteBuffer from, long offset) throws IOException;

        /** Returns when everything written before the call survives a power cut. */
        void sync() throws IOException;

        @Override
        void close();
    }
}
