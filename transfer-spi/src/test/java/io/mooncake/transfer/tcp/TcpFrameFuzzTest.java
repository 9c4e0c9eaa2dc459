// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.FuzzCorpus;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Claim;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of the data plane refuse them, or read what the encoders write. */
public final class TcpFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(TcpFrameFuzzTest.class, TcpFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, TcpFrameFuzzTest::request, TcpFrameFuzzTest::response, TcpFrameFuzzTest::trailer);
    }

    private static final CRC32C CRC = new CRC32C();

    private static void request(byte[] data) {
        ByteBuffer frame = frame(data, TcpFrameDescriptor.REQUEST_BYTES);
        // Nobody guesses a checksum; the fuzzer gets past it so.
        frame.putInt(96, checksum(frame, 96)).putInt(100, 0);
        TcpFrameDescriptor.Request request = new TcpFrameDescriptor.Request();
        if (!TcpFrameDescriptor.readRequest(frame, 0, request, CRC)) {
            return;
        }
        Claim claim = request.claim;
        assertThat(request.length()).isBetween(1, TcpFrameDescriptor.MAX_ACCESS_BYTES);
        if (claim.handleOffset < 0 || claim.handleLength < 1 || claim.handleOffset + claim.handleLength < 0) {
            // No handle has such a range; the owner refuses it when it looks at its region.
            return;
        }
        RemoteHandle handle = new RemoteHandle(
                claim.region,
                claim.generation,
                claim.handleOffset,
                claim.handleLength,
                claim.writable,
                claim.expiresAtNanos,
                claim.capability);
        ByteBuffer again = frame(new byte[0], TcpFrameDescriptor.REQUEST_BYTES);
        TcpFrameDescriptor.putRequest(
                again, claim.write, request.alone, request.sequence, handle, claim.offset, request.length(), CRC);
        for (int i = 0; i < 96; i++) {
            assertThat(again.get(i)).as("byte " + i).isEqualTo(frame.get(i));
        }
    }

    private static void response(byte[] data) {
        ByteBuffer frame = frame(data, TcpFrameDescriptor.RESPONSE_BYTES);
        frame.putInt(20, checksum(frame, 20));
        long sequence = frame.getLong(8);
        TransferStatus status = TcpFrameDescriptor.responseStatus(frame, 0, sequence, 4096, CRC);
        assertThat(TcpFrameDescriptor.responseStatus(frame, 0, sequence + 1, 4096, CRC))
                .isNull();
        if (status == TransferStatus.COMPLETED) {
            assertThat(frame.getInt(16)).isEqualTo(4096);
        } else if (status != null) {
            assertThat(frame.getInt(16)).isZero();
        }
    }

    private static void trailer(byte[] data) {
        ByteBuffer frame = frame(data, TcpFrameDescriptor.TRAILER_BYTES);
        frame.putInt(12, checksum(frame, 12));
        int sequence = frame.getInt(8);
        TransferStatus status = TcpFrameDescriptor.trailerStatus(frame, 0, sequence, CRC);
        assertThat(TcpFrameDescriptor.trailerStatus(frame, 0, sequence + 1, CRC))
                .isNull();
        if (status != null) {
            ByteBuffer again = frame(new byte[0], TcpFrameDescriptor.TRAILER_BYTES);
            TcpFrameDescriptor.putTrailer(again, status, sequence, CRC);
            assertThat(again.array()).isEqualTo(frame.array());
        }
    }

    private static ByteBuffer frame(byte[] data, int bytes) {
        return ByteBuffer.wrap(java.util.Arrays.copyOf(data, bytes)).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static int checksum(ByteBuffer frame, int bytes) {
        CRC32C crc = new CRC32C();
        crc.update(frame.array(), 0, bytes);
        return (int) crc.getValue();
    }
}
