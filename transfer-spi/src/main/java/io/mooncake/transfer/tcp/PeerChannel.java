// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.nio.channels.SocketChannel;

/**
 * Bytes to and from one peer, blocking: a socket as it is ({@link PlainChannel}) or TLS over one ({@link TlsChannel}).
 *
 * <p>Threading: one reader and one writer at a time; {@link #close} by anybody, which wakes both. A thread that is interrupted inside
 * closes the channel, as sockets do. Ownership: closing it closes the socket.
 */
public abstract class PeerChannel implements ScatteringByteChannel, GatheringByteChannel {
    private final SocketChannel socket;
    /** Written by the handshake, before the channel is handed on. */
    private int writeCreditBytes;

    PeerChannel(SocketChannel socket) {
        this.socket = socket;
    }

    /** The socket below; for its address and options only. */
    final SocketChannel socket() {
        return socket;
    }

    /** What the accepting side lets us have unanswered in writes at first, see {@link TcpFrameDescriptor}; 0 on its own side. */
    final int writeCreditBytes() {
        return writeCreditBytes;
    }

    final void grantWriteCredit(int bytes) {
        writeCreditBytes = bytes;
    }

    /**
     * Says whether the next bytes are likely to come at once, so that a read had better not go to sleep. Of the thread that reads.
     */
    void expectSoon(boolean soon) {}

    /**
     * A socket that carries the same bytes in the clear and that a selector can watch; this channel is not to be used any more, and ends
     * with that socket.
     */
    public abstract SocketChannel handOver() throws IOException;

    @Override
    public final long read(ByteBuffer[] targets) throws IOException {
        return read(targets, 0, targets.length);
    }

    @Override
    public final long write(ByteBuffer[] sources) throws IOException {
        return write(sources, 0, sources.length);
    }

    @Override
    public final boolean isOpen() {
        return socket.isOpen();
    }

    @Override
    public final void close() throws IOException {
        socket.close();
    }
}
