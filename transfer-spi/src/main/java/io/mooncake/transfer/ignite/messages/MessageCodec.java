// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.MooncakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.apache.ignite.plugin.extensions.communication.MessageReader;
import org.apache.ignite.plugin.extensions.communication.MessageWriter;
import org.apache.ignite.spi.IgniteSpiContext;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.jspecify.annotations.Nullable;

/**
 * Ignite's direct marshalling for one peer: a message's type in two bytes, then what it writes itself, piece by piece when a buffer is
 * full. Threading: one thread at a time writes, one at a time reads.
 */
final class MessageCodec {
    private final IgniteSpiContext context;
    private final UUID peer;
    private @Nullable MessageWriter writer;
    private @Nullable MessageReader reader;

    MessageCodec(IgniteSpiContext context, UUID peer) {
        this.context = context;
        this.peer = peer;
    }

    /** Writes on into {@code into}, from its start for a new message; false when it is full and the message is to be continued. */
    boolean write(Message message, ByteBuffer into) throws IgniteCheckedException {
        MessageWriter current = writer;
        if (current == null) {
            current = context.messageFormatter().writer(peer);
            writer = current;
        }
        current.setCurrentWriteClass(message.getClass());
        boolean finished = message.writeTo(into, current);
        if (finished) {
            current.reset();
        }
        return finished;
    }

    /** Forgets a message that was written in part. */
    void abandon() {
        writer = null;
    }

    /**
     * The message of {@code bytes}.
     *
     * @throws MooncakeException CORRUPT when it is none that this node knows
     */
    Message read(byte[] bytes, int length) {
        try {
            ByteBuffer from = ByteBuffer.wrap(bytes, 0, length).slice().order(ByteOrder.nativeOrder());
            short type = TcpCommunicationSpi.makeMessageType(from.get(), from.get());
            Message message = context.messageFactory().create(type);
            MessageReader current = reader;
            if (current == null) {
                current = context.messageFormatter().reader(peer, context.messageFactory());
                reader = current;
            }
            current.setCurrentReadClass(message.getClass());
            if (!message.readFrom(from, current) || from.hasRemaining()) {
                throw new MooncakeException(
                        MooncakeException.Code.CORRUPT, "a message of type " + type + " and " + length + " bytes");
            }
            current.reset();
            return message;
        } catch (IgniteCheckedException | RuntimeException e) {
            reader = null;
            throw e instanceof MooncakeException known
                    ? known
                    : new MooncakeException(MooncakeException.Code.CORRUPT, "a message can't be read: " + e, e);
        }
    }
}
