// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.RawMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory of one lane through which large messages go: at the sending end peers read it, at the receiving end it is read into.
 * It lies in a shared file where that can be, so that peers of this machine map it.
 *
 * <p>Ownership: owns memory and registration until {@link #close}. Threading: one thread at a time.
 */
final class LaneMemory implements AutoCloseable {
    /** Bytes of a piece. */
    static final int BYTES = 4 << 20;

    private static final int WORD_BYTES = 64;
    private static final long GENERATION = 1;
    private static final Duration TERM = Duration.ofSeconds(60);
    private static final long RENEW_NANOS = 30_000_000_000L;

    private final TransferEngine engine;
    private final @Nullable SharedFile file;
    private final ByteBuffer view;
    /** Keeps memory that is no file from being freed. */
    private final @Nullable ByteBuffer owned;

    private final long address;
    private final int region;
    private @Nullable RemoteHandle handle;
    private long renewAtNanos;
    private boolean closed;

    LaneMemory(TransferEngine engine) {
        this.engine = engine;
        SharedFile made = shared();
        file = made;
        long total = (long) BYTES + WORD_BYTES;
        if (made != null) {
            owned = null;
            address = made.address();
            region = register(engine, made, total);
        } else {
            owned = ByteBuffer.allocateDirect((int) total);
            address = DirectViews.address(owned);
            region = engine.registerMemory(address, total, new Word());
        }
        RawMemory.putLongVolatile(address, GENERATION);
        view = DirectViews.view(address + WORD_BYTES, BYTES).order(ByteOrder.nativeOrder());
    }

    /** Closes the file where the engine refuses it: nobody else has it yet. */
    private static int register(TransferEngine engine, SharedFile made, long total) {
        boolean registered = false;
        try {
            int id = engine.registerMemory(made.address(), total, new Word(), made);
            registered = true;
            return id;
        } finally {
            if (!registered) {
                made.close();
            }
        }
    }

    private static @Nullable SharedFile shared() {
        long bytes = (long) BYTES + WORD_BYTES;
        if (!NativeBridge.available()
                || !SharedFile.obstacle(SharedFile.DEFAULT_FOLDER, bytes).isEmpty()) {
            return null;
        }
        try {
            return SharedFile.create(SharedFile.DEFAULT_FOLDER, bytes);
        } catch (MooncakeException e) {
            // No room: peers read it by another way.
            return null;
        }
    }

    /** All of it, from its start. */
    ByteBuffer view() {
        return view.clear();
    }

    long address() {
        return address + WORD_BYTES;
    }

    /** CRC32C of the first {@code length} bytes. */
    int crc(int length) {
        CRC32C crc = new CRC32C();
        crc.update(view.clear().limit(length));
        return (int) crc.getValue();
    }

    /** A handle for {@code reader} with at least half of its term left; always the same reader. */
    RemoteHandle handle(UUID reader) {
        RemoteHandle current = handle;
        long now = System.nanoTime();
        if (current == null || now - renewAtNanos >= 0) {
            current = engine.issueHandle(reader, region, GENERATION, WORD_BYTES, BYTES, false, TERM);
            handle = current;
            renewAtNanos = now + RENEW_NANOS;
        }
        return current;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            engine.unregisterMemory(region);
        } catch (MooncakeException e) {
            // An engine that was closed before has let go of the memory already.
            if (e.code() != MooncakeException.Code.ILLEGAL_STATE) {
                throw e;
            }
        }
        if (file != null) {
            file.close();
        }
    }

    /** The memory is the lane's for all of its life; what a piece is worth, its checksum says. */
    private static final class Word implements PublishedGuard {
        @Override
        public boolean current(long offset, long length, long generation) {
            return generation == GENERATION && offset >= WORD_BYTES && length <= BYTES;
        }

        @Override
        public long generationOffset(long offset, long length) {
            return 0;
        }
    }
}
