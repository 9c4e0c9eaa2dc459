// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** A device whose every operation is watched for stalls, as that of one thread: for what one thread at a time uses. */
final class WatchedDevice implements SsdDevice {
    private final SsdDevice device;
    private final IoWatch watch;
    private final int thread;

    WatchedDevice(SsdDevice device, IoWatch watch, int thread) {
        this.device = device;
        this.watch = watch;
        this.thread = thread;
    }

    private interface Operation<T> {
        T run() throws IOException;
    }

    private <T> T watched(Operation<T> operation) throws IOException {
        watch.begin(thread);
        try {
            return operation.run();
        } finally {
            watch.end(thread);
        }
    }

    @Override
    public List<String> names() throws IOException {
        return watched(device::names);
    }

    @Override
    public SsdFile open(String name) throws IOException {
        return new WatchedFile(watched(() -> device.open(name)));
    }

    @Override
    public SsdFile create(String name, long bytes) throws IOException {
        return new WatchedFile(watched(() -> device.create(name, bytes)));
    }

    @Override
    public void delete(String name) throws IOException {
        watched(() -> {
            device.delete(name);
            return name;
        });
    }

    @Override
    public boolean hasRoom(long bytes) throws IOException {
        return watched(() -> device.hasRoom(bytes));
    }

    @Override
    public boolean direct() {
        return device.direct();
    }

    @Override
    public void close() {
        device.close();
    }

    private final class WatchedFile implements SsdFile {
        private final SsdFile file;

        WatchedFile(SsdFile file) {
            this.file = file;
        }

        @Override
        public long bytes() throws IOException {
            return watched(file::bytes);
        }

        @Override
        public int read(ByteBuffer to, long offset) throws IOException {
            return watched(() -> file.read(to, offset));
        }

        @Override
        public int write(ByteBuffer from, long offset) throws IOException {
            return watched(() -> file.write(from, offset));
        }

        @Override
        public void sync() throws IOException {
            watched(() -> {
                file.sync();
                return file;
            });
        }

        @Override
        public void close() {
            file.close();
        }
    }
}
