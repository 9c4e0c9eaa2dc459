// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** A device in front of another one, for those that change some of what it does. */
class ForwardingDevice implements SsdDevice {
    final SsdDevice device;

    ForwardingDevice(SsdDevice device) {
        this.device = device;
    }

    @Override
    public List<String> names() throws IOException {
        return device.names();
    }

    @Override
    public SsdFile open(String name) throws IOException {
        return device.open(name);
    }

    @Override
    public SsdFile create(String name, long bytes) throws IOException {
        return device.create(name, bytes);
    }

    @Override
    public void delete(String name) throws IOException {
        device.delete(name);
    }

    @Override
    public boolean hasRoom(long bytes) throws IOException {
        return device.hasRoom(bytes);
    }

    @Override
    public boolean direct() {
        return device.direct();
    }

    @Override
    public void close() {
        device.close();
    }

    /** An open file of it. */
    static class ForwardingFile implements SsdFile {
        final String name;
        final SsdFile file;

        ForwardingFile(String name, SsdFile file) {
            this.name = name;
            this.file = file;
        }

        @Override
        public long bytes() throws IOException {
            return file.bytes();
        }

        @Override
        public int read(ByteBuffer to, long offset) throws IOException {
            return file.read(to, offset);
        }

        @Override
        public int write(ByteBuffer from, long offset) throws IOException {
            return file.write(from, offset);
        }

        @Override
        public void sync() throws IOException {
            file.sync();
        }

        @Override
        public void close() {
            file.close();
        }
    }
}
