// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.UUID;

/** How an owner of this benchmark hands out the right to its memory, over the control plane, before anything is measured. */
final class HandleFrames {
    static final String SERVICE = "bench.handles";
    static final Duration TERM = Duration.ofSeconds(60);

    private HandleFrames() {}

    /** {@code spots} handles of {@code size} bytes, {@code stride} apart. */
    static byte[] request(long size, long spots, long stride, boolean writable) {
        return ByteBuffer.allocate(25)
                .putLong(size)
                .putLong(spots)
                .putLong(stride)
                .put((byte) (writable ? 1 : 0))
                .array();
    }

    /** Answers {@link #request}. */
    static byte[] reply(TransferEngine engine, UUID peer, int region, long generation, byte[] request) {
        ByteBuffer in = ByteBuffer.wrap(request);
        long size = in.getLong();
        long spots = in.getLong();
        long stride = in.getLong();
        boolean writable = in.get() == 1;
        RemoteHandle first = engine.issueHandle(peer, region, generation, 0, size, writable, TERM);
        ByteBuffer out = ByteBuffer.allocate((int) spots * (40 + first.capability().length));
        for (int i = 0; i < spots; i++) {
            RemoteHandle handle =
                    i == 0 ? first : engine.issueHandle(peer, region, generation, i * stride, size, writable, TERM);
            out.putInt(handle.region())
                    .putLong(handle.generation())
                    .putLong(handle.offset())
                    .putLong(handle.length())
                    .putLong(handle.expiresAtNanos())
                    .putInt(handle.capability().length)
                    .put(handle.capability());
        }
        return out.array();
    }

    /** Reads {@link #reply}. */
    static RemoteHandle[] handles(byte[] reply, int spots, boolean writable) {
        ByteBuffer in = ByteBuffer.wrap(reply);
        RemoteHandle[] handles = new RemoteHandle[spots];
        for (int i = 0; i < spots; i++) {
            int region = in.getInt();
            long generation = in.getLong();
            long offset = in.getLong();
            long length = in.getLong();
            long expires = in.getLong();
            byte[] capability = new byte[in.getInt()];
            in.get(capability);
            handles[i] = new RemoteHandle(region, generation, offset, length, writable, expires, capability);
        }
        return handles;
    }
}
