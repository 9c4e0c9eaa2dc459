// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** The frames on the wire do not change, and no bytes upset the decoders. */
final class TcpFrameDescriptorTest {
    private final CRC32C crc = new CRC32C();

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private ByteBuffer request() {
        byte[] capability = new byte[32];
        Arrays.fill(capability, (byte) 0xcd);
        ByteBuffer frame = buffer(TcpFrameDescriptor.REQUEST_BYTES);
        RemoteHandle handle = new RemoteHandle(3, 4, 5, 6, true, 7, capability);
        TcpFrameDescriptor.putRequest(frame, true, true, 2, handle, 1, 5, crc);
        return frame;
    }

    @Test
    void put_frames_areGolden() {
        assertThat(HexFormat.of().formatHex(request().array(), 0, 96))
                .isEqualTo("4d4b5131" + "03" + "02" + "0300" + "0200000000000000" + "03000000" + "05000000"
                        + "0400000000000000" + "0500000000000000" + "0600000000000000" + "0700000000000000"
                        + "0100000000000000" + "cd".repeat(32));
        ByteBuffer response = buffer(TcpFrameDescriptor.RESPONSE_BYTES);
        TcpFrameDescriptor.putResponse(response, TransferStatus.COMPLETED, 9, 256, 3 << 20, crc);
        assertThat(HexFormat.of().formatHex(response.array(), 0, 20))
                .isEqualTo("4d4b5231" + "03" + "01" + "3000" + "0900000000000000" + "00010000");
        ByteBuffer trailer = buffer(TcpFrameDescriptor.TRAILER_BYTES);
        TcpFrameDescriptor.putTrailer(trailer, TransferStatus.STALE_GENERATION, 9, crc);
        assertThat(HexFormat.of().formatHex(trailer.array()))
                .isEqualTo("4d4b4531" + "04000000" + "09000000" + "119cf7e2");
    }

    @Test
    void hello_fields_areGolden() {
        ByteBuffer hello = buffer(HandshakeDescriptor.HELLO_BYTES);
        HandshakeDescriptor.hello(hello, Plane.CONTROL, new UUID(1, 2), new UUID(3, 4), new byte[32]);
        assertThat(HexFormat.of().formatHex(hello.array(), 0, 40))
                .isEqualTo("4d4b5431" + "02" + "02" + "02" + "00" + "0100000000000000" + "0200000000000000"
                        + "0300000000000000" + "0400000000000000");
    }

    @Test
    void challenge_fields_areGolden() {
        ByteBuffer challenge = buffer(HandshakeDescriptor.CHALLENGE_BYTES);
        HandshakeDescriptor.challenge(challenge, 2, 0, new UUID(1, 2), new byte[32], 1 << 20);
        assertThat(HexFormat.of().formatHex(challenge.array(), 0, 72))
                .isEqualTo("4d4b5431" + "02" + "00" + "0000" + "0100000000000000" + "0200000000000000" + "00".repeat(32)
                        + "00001000" + "00".repeat(12));
    }

    @Test
    void writeCreditBytes_anyGrant_isRoundedDownToUnitsAndBounded() {
        ByteBuffer response = buffer(TcpFrameDescriptor.RESPONSE_BYTES);
        long[][] cases = {{0, 0}, {65_535, 0}, {65_536, 65_536}, {Integer.MAX_VALUE, 32_767 * 65_536L}};
        for (long[] one : cases) {
            response.clear();
            TcpFrameDescriptor.putResponse(response, TransferStatus.COMPLETED, 1, 0, (int) one[0], crc);
            assertThat(TcpFrameDescriptor.writeCreditBytes(response, 0)).isEqualTo(one[1]);
        }
    }

    @Test
    void codes_everyStatus_comesBack() {
        for (TransferStatus status : TransferStatus.values()) {
            ByteBuffer trailer = buffer(TcpFrameDescriptor.TRAILER_BYTES);
            TcpFrameDescriptor.putTrailer(trailer, status, 1, crc);
            assertThat(TcpFrameDescriptor.trailerStatus(trailer, 0, 1, crc)).isEqualTo(status);
            assertThat(TcpFrameDescriptor.trailerStatus(trailer, 0, 2, crc)).isNull();
        }
    }

    @Test
    void readRequest_anyBitFlipped_isNoRequest() {
        TcpFrameDescriptor.Request request = new TcpFrameDescriptor.Request();
        assertThat(TcpFrameDescriptor.readRequest(request(), 0, request, crc)).isTrue();
        assertThat(request.claim.offset).isEqualTo(1);
        for (int bit = 0; bit < TcpFrameDescriptor.REQUEST_BYTES * 8; bit++) {
            ByteBuffer frame = request();
            frame.array()[bit / 8] ^= (byte) (1 << bit % 8);
            frame.clear();
            assertThat(TcpFrameDescriptor.readRequest(frame, 0, request, crc))
                    .as("bit %d", bit)
                    .isFalse();
        }
    }

    @Test
    void answers_anyBitFlipped_areNoAnswers() {
        for (int bit = 0; bit < TcpFrameDescriptor.RESPONSE_BYTES * 8; bit++) {
            ByteBuffer response = buffer(TcpFrameDescriptor.RESPONSE_BYTES);
            TcpFrameDescriptor.putResponse(response, TransferStatus.COMPLETED, 9, 256, 3 << 20, crc);
            response.array()[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(TcpFrameDescriptor.responseStatus(response.clear(), 0, 9, 256, crc))
                    .as("bit %d", bit)
                    .isNull();
        }
        for (int bit = 0; bit < TcpFrameDescriptor.TRAILER_BYTES * 8; bit++) {
            ByteBuffer trailer = buffer(TcpFrameDescriptor.TRAILER_BYTES);
            TcpFrameDescriptor.putTrailer(trailer, TransferStatus.STALE_INCARNATION, 9, crc);
            trailer.array()[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(TcpFrameDescriptor.trailerStatus(trailer.clear(), 0, 9, crc))
                    .as("bit %d", bit)
                    .isNull();
        }
    }

    @Test
    void read_random_neverThrows() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("read_random mooncake.seed=" + seed);
        Random random = new Random(seed);
        TcpFrameDescriptor.Request request = new TcpFrameDescriptor.Request();
        ByteBuffer frame = buffer(TcpFrameDescriptor.REQUEST_BYTES);
        int rounds = Boolean.getBoolean("mooncake.long") ? 5_000_000 : 200_000;
        for (int i = 0; i < rounds; i++) {
            random.nextBytes(frame.array());
            int magic = random.nextInt(4);
            frame.clear();
            if (magic == 0) {
                frame.putInt(0, TcpFrameDescriptor.REQUEST_MAGIC).put(4, (byte) TcpFrameDescriptor.VERSION);
                crc.reset();
                crc.update(frame.array(), 0, 96);
                frame.putInt(96, (int) crc.getValue());
            }
            if (TcpFrameDescriptor.readRequest(frame, 0, request, crc)) {
                assertThat(request.length()).isBetween(1, TcpFrameDescriptor.MAX_ACCESS_BYTES);
            }
            TcpFrameDescriptor.responseStatus(frame, 0, 1, 1, crc);
            TcpFrameDescriptor.trailerStatus(frame, 0, 1, crc);
        }
    }
}
