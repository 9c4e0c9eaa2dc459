// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.apache.ignite.spi.communication.tcp.messages.NodeIdMessage;
import org.jspecify.annotations.Nullable;

/**
 * Says within Ignite's TCP stream where it takes over from a lane, or where the lane goes on. It travels as a message that Ignite itself
 * sends only before a session exists, so behind the handshake it can be nobody else's:
 *
 * <pre>
 * 0 magic i32 | 4 takes over 1, goes on 2, u8 | 5 zero u8 x 3 | 8 epoch i24, sequence i40: first message that follows by TCP
 * </pre>
 *
 * @param takesOver whether what follows in the stream belongs behind the lane's messages, from {@code sequence} on
 * @param epoch of the lane that ends or begins
 * @param sequence of the next message in the stream; 0 where the lane goes on
 */
record SwitchMark(boolean takesOver, int epoch, long sequence) {
    private static final int MAGIC = 0x6d6b6c6e;
    static final int MAX_EPOCH = (1 << 24) - 1;
    private static final long MAX_SEQUENCE = (1L << 40) - 1;

    Message encode() {
        if (sequence > MAX_SEQUENCE || epoch > MAX_EPOCH) {
            throw new IllegalStateException("epoch " + epoch + ", sequence " + sequence);
        }
        long head = (long) MAGIC << 32 | (takesOver ? 1L : 2L) << 24;
        return new NodeIdMessage(new UUID(head, (long) epoch << 40 | sequence));
    }

    /** The mark that {@code message} is, or null. */
    static @Nullable SwitchMark of(Message message) {
        if (!(message instanceof NodeIdMessage carrier) || carrier.nodeIdBytes().length != 16) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.wrap(carrier.nodeIdBytes());
        long head = bytes.getLong();
        long tail = bytes.getLong();
        int kind = (int) (head >>> 24 & 0xff);
        if (head >>> 32 != MAGIC || (kind != 1 && kind != 2)) {
            return null;
        }
        return new SwitchMark(kind == 1, (int) (tail >>> 40), tail & MAX_SEQUENCE);
    }
}
