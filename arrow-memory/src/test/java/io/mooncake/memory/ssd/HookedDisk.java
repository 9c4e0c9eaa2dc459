// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A device on which a test decides what fails, operation by operation. */
final class HookedDisk extends ForwardingDevice {
    /** Called before each operation of a file; what it throws is what the operation throws. */
    @FunctionalInterface
    interface Hook {
        /** {@code offset} is -1 for a sync. */
        void before(String operation, String name, long offset) throws IOException;
    }

    private volatile Hook hook = (operation, name, offset) -> {};

    HookedDisk(SsdDevice device) {
        super(device);
    }

    void hook(Hook next) {
        hook = next;
    }

    @Override
    public SsdFile open(String name) throws IOException {
        return new HookedFile(name, device.open(name));
    }

    @Override
    public SsdFile create(String name, long bytes) throws IOException {
        hook.before("create", name, bytes);
        return new HookedFile(name, device.create(name, bytes));
    }

    private final class HookedFile extends ForwardingFile {
        HookedFile(String name, SsdFile file) {
            super(name, file);
        }

        @Override
        public int read(ByteBuffer to, long offset) throws IOException {
            hook.before("read", name, offset);
            return file.read(to, offset);
        }

        @Override
        public int write(ByteBuffer from, long offset) throws IOException {
            hook.before("write", name, offset);
            return file.write(from, offset);
        }

        @Override
        public void sync() throws IOException {
            hook.before("sync", name, -1);
            file.sync();
        }
    }
}
