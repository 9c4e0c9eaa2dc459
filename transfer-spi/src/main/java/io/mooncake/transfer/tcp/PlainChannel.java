// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The socket itself: bytes go straight between the kernel and the buffers that are named. */
final class PlainChannel extends PeerChannel {
    private final ArrivalPoll poll;
    private boolean soon;

    PlainChannel(SocketChannel socket) {
        super(socket);
        poll = new ArrivalPoll(socket);
    }

    @Override
    void expectSoon(boolean value) {
        soon = value;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        if (!soon) {
            return socket().read(target);
        }
        poll.begin();
        int read = socket().read(target);
        poll.end();
        return read;
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        if (!soon) {
            return socket().read(targets, offset, length);
        }
        poll.begin();
        long read = socket().read(targets, offset, length);
        poll.end();
        return read;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        return socket().write(source);
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        return socket().write(sources, offset, length);
    }

    @Override
    public SocketChannel handOver() {
        return socket();
    }
}
