// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/**
 * TLS over a blocking socket. Three buffers of fixed size a channel: what came from the wire, what goes to it, and the plaintext of a
 * record that did not fit the caller's buffers; whole records are decrypted straight into those.
 *
 * <p>A reader and a writer may work at once: the engine allows it, and what the reader must send (answers of the protocol itself) is sent
 * under {@code writing}, which the writer holds too. An end of the stream without TLS's own goodbye is an end like any other, for frames
 * above say themselves whether they are complete.
 */
final class TlsChannel extends PeerChannel {
    private static final int BUFFERED_RECORDS = 4;
    static final int HANDSHAKE_RECORD = 0x16;
    static final int ALERT_RECORD = 0x15;
    /** A fatal alert, unexpected message: what whoever speaks no TLS gets, so that a peer can tell why. */
    private static final byte[] REFUSAL = {ALERT_RECORD, 3, 3, 0, 2, 2, 10};

    private final SSLEngine engine;
    /** From the wire; position..limit is not decrypted yet. Reader's. */
    private final ByteBuffer wireIn;
    /** Plaintext that no caller has taken yet, position..limit. Reader's. */
    private final ByteBuffer plainIn;
    /** To the wire; guarded by {@code writing}. */
    private final ByteBuffer wireOut;

    private final ByteBuffer[] readOne = new ByteBuffer[1];
    private final ByteBuffer[] writeOne = new ByteBuffer[1];
    private final ByteBuffer[] nothing = {ByteBuffer.allocate(0)};
    private final Object writing = new Object();
    private boolean recognised;

    TlsChannel(SocketChannel socket, SSLEngine engine) {
        super(socket);
        this.engine = engine;
        int record = engine.getSession().getPacketBufferSize();
        this.wireIn = ByteBuffer.allocateDirect(BUFFERED_RECORDS * record).limit(0);
        this.wireOut = ByteBuffer.allocateDirect(BUFFERED_RECORDS * record);
        this.plainIn = ByteBuffer.allocateDirect(2 * record).limit(0);
    }

    /**
     * Shakes hands and checks that the peer's certificates are valid today; those that the trust store holds itself are not checked for
     * that by JSSE. The caller's watchdog bounds the time.
     */
    void handshake() throws IOException {
        try {
            engine.beginHandshake();
            HandshakeStatus status = engine.getHandshakeStatus();
            while (status != HandshakeStatus.NOT_HANDSHAKING && status != HandshakeStatus.FINISHED) {
                if (status == HandshakeStatus.NEED_UNWRAP || status == HandshakeStatus.NEED_UNWRAP_AGAIN) {
                    unwrapHandshake();
                } else {
                    serveProtocol();
                }
                status = engine.getHandshakeStatus();
            }
            for (Certificate certificate : engine.getSession().getPeerCertificates()) {
                ((X509Certificate) certificate).checkValidity();
            }
        } catch (CertificateException e) {
            throw new SSLException("peer's certificate: " + e.getMessage(), e);
        } catch (SSLException e) {
            tellWhy();
            throw e;
        }
    }

    private void unwrapHandshake() throws IOException {
        SSLEngineResult result = engine.unwrap(wireIn, plainIn.clear());
        plainIn.flip();
        switch (result.getStatus()) {
            case BUFFER_UNDERFLOW -> {
                if (fill() < 0) {
                    throw new SSLException("the peer hung up during the TLS handshake");
                }
                if (!recognised) {
                    requireTls(wireIn.get(0));
                    recognised = true;
                }
            }
            case CLOSED -> throw new SSLException("the peer ended the TLS handshake");
            case OK, BUFFER_OVERFLOW -> {}
        }
    }

    /** Looks at the first byte alone, so that a stranger who sends less than a record is turned away as well. */
    private void requireTls(byte first) throws IOException {
        if (first != HANDSHAKE_RECORD && !engine.getUseClientMode()) {
            socket().write(refusal());
            throw new HandshakeException(TransferStatus.REFUSED, "no TLS (this engine takes nothing else)");
        }
    }

    static ByteBuffer refusal() {
        return ByteBuffer.wrap(REFUSAL);
    }

    /** Sends the alert that the engine has ready, and an end, so that it is read before the socket goes. */
    private void tellWhy() {
        try {
            engine.closeOutbound();
            synchronized (writing) {
                SSLEngineResult result = engine.wrap(nothing[0], wireOut);
                while (result.bytesProduced() > 0) {
                    flush();
                    result = engine.wrap(nothing[0], wireOut);
                }
            }
            socket().shutdownOutput();
        } catch (IOException e) {
            // Then the peer learns less.
            return;
        }
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        readOne[0] = target;
        return (int) read(readOne, 0, 1);
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
        if (plainIn.hasRemaining()) {
            return copyOut(targets, offset, length);
        }
        long produced = 0;
        while (hasRemaining(targets, offset, length)) {
            SSLEngineResult result = engine.unwrap(wireIn, targets, offset, length);
            produced += result.bytesProduced();
            switch (result.getStatus()) {
                case OK -> {
                    serveProtocol();
                    requireProgress(result);
                }
                case BUFFER_OVERFLOW -> {
                    if (produced > 0) {
                        return produced;
                    }
                    if (!unwrapWhole()) {
                        return -1;
                    }
                    produced = copyOut(targets, offset, length);
                    if (produced > 0) {
                        return produced;
                    }
                }
                case BUFFER_UNDERFLOW -> {
                    if (produced > 0) {
                        return produced;
                    }
                    if (fill() < 0) {
                        return -1;
                    }
                }
                case CLOSED -> {
                    return produced > 0 ? produced : -1;
                }
            }
        }
        return produced;
    }

    /**
     * Decrypts a record that the caller's buffers have no room for; false when the stream ends before it. The engine says that there is no
     * room before it says that half of the record is still missing.
     */
    private boolean unwrapWhole() throws IOException {
        SSLEngineResult result = engine.unwrap(wireIn, plainIn.clear());
        while (result.getStatus() == SSLEngineResult.Status.BUFFER_UNDERFLOW) {
            if (fill() < 0) {
                plainIn.limit(0);
                return false;
            }
            result = engine.unwrap(wireIn, plainIn);
        }
        plainIn.flip();
        if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
            return false;
        }
        serveProtocol();
        requireProgress(result);
        return true;
    }

    /** A step that took nothing and gave nothing would be repeated for ever. */
    private static void requireProgress(SSLEngineResult result) throws SSLException {
        if (result.bytesConsumed() == 0 && result.bytesProduced() == 0) {
            throw new SSLException("TLS stands still: " + result);
        }
    }

    private long copyOut(ByteBuffer[] targets, int offset, int length) {
        long copied = 0;
        for (int i = offset; i < offset + length && plainIn.hasRemaining(); i++) {
            int bytes = Math.min(plainIn.remaining(), targets[i].remaining());
            int limit = plainIn.limit();
            targets[i].put(plainIn.limit(plainIn.position() + bytes));
            plainIn.limit(limit);
            copied += bytes;
        }
        return copied;
    }

    private int fill() throws IOException {
        wireIn.compact();
        try {
            return socket().read(wireIn);
        } finally {
            wireIn.flip();
        }
    }

    /** Does what TLS itself asks for: in the handshake, and after it when keys are renewed. */
    private void serveProtocol() throws IOException {
        while (true) {
            HandshakeStatus status = engine.getHandshakeStatus();
            if (status == HandshakeStatus.NEED_TASK) {
                Runnable task = engine.getDelegatedTask();
                while (task != null) {
                    task.run();
                    task = engine.getDelegatedTask();
                }
            } else if (status == HandshakeStatus.NEED_WRAP) {
                synchronized (writing) {
                    if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
                        SSLEngineResult result = engine.wrap(nothing[0], wireOut);
                        flush();
                        // So it is for ever once the peer has said goodbye and we have not.
                        if (result.bytesProduced() == 0 && result.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
                            throw new SSLException("TLS stands still: " + result);
                        }
                    }
                }
            } else {
                return;
            }
        }
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        synchronized (writing) {
            writeOne[0] = source;
            return (int) write(writeOne, 0, 1);
        }
    }

    /** Writes all of it. */
    @Override
    public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
        long consumed = 0;
        synchronized (writing) {
            while (hasRemaining(sources, offset, length)) {
                SSLEngineResult result = engine.wrap(sources, offset, length, wireOut);
                consumed += result.bytesConsumed();
                switch (result.getStatus()) {
                    case OK -> requireProgress(result);
                    case BUFFER_OVERFLOW -> flush();
                    case BUFFER_UNDERFLOW, CLOSED -> throw new SSLException("TLS has ended");
                }
            }
            flush();
        }
        return consumed;
    }

    private void flush() throws IOException {
        wireOut.flip();
        try {
            while (wireOut.hasRemaining()) {
                socket().write(wireOut);
            }
        } finally {
            wireOut.clear();
        }
    }

    private static boolean hasRemaining(ByteBuffer[] buffers, int offset, int length) {
        for (int i = offset; i < offset + length; i++) {
            if (buffers[i].hasRemaining()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public SocketChannel handOver() throws IOException {
        return TlsPump.start(this);
    }
}
