// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static io.mooncake.transfer.tcp.HandshakeDescriptor.AUTHENTICATED_BYTES;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.CHALLENGE_BYTES;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.HELLO_BYTES;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.MAGIC;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.MAX_VERSION;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.MIN_VERSION;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.NONCE_BYTES;
import static io.mooncake.transfer.tcp.HandshakeDescriptor.PROOF_BYTES;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.UUID;
import java.util.function.Predicate;
import javax.crypto.Mac;

/**
 * Both sides of the handshake over a blocking channel. Reads exactly its own bytes, so that the channel can be handed on; allocates fixed
 * buffers only. The caller's watchdog bounds the time.
 */
final class Handshake {
    private final ClusterKey helloKey;
    private final ClusterKey acceptKey;
    private final ClusterKey connectKey;
    private final UUID own;
    private final boolean checkIncarnation;
    private final SecureRandom random = new SecureRandom();

    Handshake(ClusterKey root, UUID own, boolean checkIncarnation) {
        this.helloKey = root.derive("handshake hello");
        this.acceptKey = root.derive("handshake accept");
        this.connectKey = root.derive("handshake connect");
        this.own = own;
        this.checkIncarnation = checkIncarnation;
    }

    /** Connecting side: returns when the peer has proved the secret and that it is {@code expected}, and has been sent our proof. */
    void connect(PeerChannel channel, Plane plane, UUID expected) throws IOException {
        ByteBuffer hello = buffer(HELLO_BYTES);
        HandshakeDescriptor.hello(hello, plane, own, expected, nonce());
        hello.put(AUTHENTICATED_BYTES, mac(helloKey, hello.array(), AUTHENTICATED_BYTES));
        write(channel, hello);
        ByteBuffer challenge = buffer(CHALLENGE_BYTES);
        readFully(channel, challenge, CHALLENGE_BYTES);
        if (challenge.getInt(0) != MAGIC || challenge.get(5) == HandshakeDescriptor.STATUS_REFUSED) {
            throw new HandshakeException(TransferStatus.REFUSED, "the peer refused the handshake");
        }
        byte[] proven = mac(acceptKey, hello.array(), HELLO_BYTES, challenge.array(), AUTHENTICATED_BYTES);
        if (!MessageDigest.isEqual(proven, tail(challenge))) {
            throw new HandshakeException(TransferStatus.REFUSED, "the peer does not know the cluster's secret");
        }
        if (challenge.get(5) == HandshakeDescriptor.STATUS_VERSION) {
            throw new HandshakeException(
                    TransferStatus.REFUSED,
                    "peer's protocol: " + challenge.get(4) + " (expected: " + MAX_VERSION + ")");
        }
        UUID there = HandshakeDescriptor.uuid(challenge, 8);
        if (checkIncarnation
                && (challenge.get(5) == HandshakeDescriptor.STATUS_STALE_INCARNATION || !there.equals(expected))) {
            throw new HandshakeException(
                    TransferStatus.STALE_INCARNATION, "peer: " + there + " (expected: " + expected + ")");
        }
        channel.grantWriteCredit(HandshakeDescriptor.writeCreditBytes(challenge));
        write(
                channel,
                ByteBuffer.wrap(mac(connectKey, hello.array(), HELLO_BYTES, challenge.array(), CHALLENGE_BYTES)));
    }

    /**
     * Accepting side: returns the peer's incarnation when it has proved the secret.
     *
     * @param admits whether one more connection of a member is wanted
     * @throws HandshakeException STALE_INCARNATION when a member looks for another life of us, else REFUSED
     */
    UUID accept(PeerChannel channel, Plane plane, Predicate<UUID> admits) throws IOException {
        ByteBuffer hello = buffer(HELLO_BYTES);
        readFully(channel, hello, 4);
        readFully(channel, hello, HELLO_BYTES);
        byte[] helloMac = mac(helloKey, hello.array(), AUTHENTICATED_BYTES);
        ByteBuffer challenge = buffer(CHALLENGE_BYTES);
        if (!MessageDigest.isEqual(helloMac, tail(hello)) || hello.get(6) != plane.code()) {
            throw refuse(channel, challenge, "wrong secret or plane");
        }
        UUID claimed = HandshakeDescriptor.uuid(hello, 8);
        if (!admits.test(claimed)) {
            throw refuse(channel, challenge, "member " + claimed + " has as many connections as it may have");
        }
        int status = HandshakeDescriptor.STATUS_OK;
        if (hello.get(4) > MAX_VERSION || hello.get(5) < MIN_VERSION) {
            status = HandshakeDescriptor.STATUS_VERSION;
        } else if (checkIncarnation && !HandshakeDescriptor.uuid(hello, 24).equals(own)) {
            status = HandshakeDescriptor.STATUS_STALE_INCARNATION;
        }
        HandshakeDescriptor.challenge(
                challenge, MAX_VERSION, status, own, nonce(), TcpFrameDescriptor.FIRST_WRITE_CREDIT_BYTES);
        challenge.put(
                AUTHENTICATED_BYTES,
                mac(acceptKey, hello.array(), HELLO_BYTES, challenge.array(), AUTHENTICATED_BYTES));
        write(channel, challenge);
        if (status != HandshakeDescriptor.STATUS_OK) {
            throw new HandshakeException(
                    TransferStatus.STALE_INCARNATION, "the peer looks for another life or version");
        }
        ByteBuffer proof = buffer(PROOF_BYTES);
        while (proof.hasRemaining()) {
            requireMore(channel.read(proof));
        }
        byte[] expected = mac(connectKey, hello.array(), HELLO_BYTES, challenge.array(), CHALLENGE_BYTES);
        if (!MessageDigest.isEqual(expected, proof.array())) {
            throw new HandshakeException(TransferStatus.REFUSED, "the proof is wrong");
        }
        return claimed;
    }

    private static HandshakeException refuse(PeerChannel channel, ByteBuffer challenge, String why) throws IOException {
        HandshakeDescriptor.challenge(
                challenge, MAX_VERSION, HandshakeDescriptor.STATUS_REFUSED, new UUID(0, 0), new byte[NONCE_BYTES], 0);
        write(channel, challenge);
        return new HandshakeException(TransferStatus.REFUSED, why);
    }

    /** Fills up to {@code upTo} bytes and cuts at the first byte that differs from the magic. */
    private static void readFully(PeerChannel channel, ByteBuffer target, int upTo) throws IOException {
        target.limit(upTo);
        while (target.hasRemaining()) {
            requireMore(channel.read(target));
            for (int i = 0; i < Math.min(4, target.position()); i++) {
                if (target.get(i) != (byte) (MAGIC >>> (8 * i))) {
                    throw notOurs(channel, target.get(0));
                }
            }
        }
    }

    private static HandshakeException notOurs(PeerChannel channel, byte first) throws IOException {
        if (first == TlsChannel.HANDSHAKE_RECORD) {
            channel.write(TlsChannel.refusal());
        }
        return new HandshakeException(
                TransferStatus.REFUSED,
                switch (first) {
                    case TlsChannel.HANDSHAKE_RECORD -> "TLS (this engine speaks none)";
                    case TlsChannel.ALERT_RECORD -> "the peer wants TLS (this engine speaks none)";
                    default -> "not our protocol";
                });
    }

    private static void requireMore(int read) throws EOFException {
        if (read < 0) {
            throw new EOFException("the peer hung up during the handshake");
        }
    }

    private static void write(PeerChannel channel, ByteBuffer source) throws IOException {
        source.clear();
        while (source.hasRemaining()) {
            channel.write(source);
        }
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private byte[] nonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        return nonce;
    }

    private static byte[] tail(ByteBuffer frame) {
        byte[] tail = new byte[ClusterKey.MAC_BYTES];
        frame.get(AUTHENTICATED_BYTES, tail);
        return tail;
    }

    private static byte[] mac(ClusterKey key, byte[] data, int length) {
        Mac mac = key.mac();
        mac.update(data, 0, length);
        return mac.doFinal();
    }

    private static byte[] mac(ClusterKey key, byte[] first, int firstLength, byte[] second, int secondLength) {
        Mac mac = key.mac();
        mac.update(first, 0, firstLength);
        mac.update(second, 0, secondLength);
        return mac.doFinal();
    }
}
