// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.FuzzCorpus;
import io.mooncake.transfer.control.ControlFrameDescriptor.Frame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoder of the control plane refuses them, or reads what the encoder writes. */
public final class ControlFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(ControlFrameFuzzTest.class, ControlFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, ControlFrameFuzzTest::decode);
    }

    private static void decode(byte[] data) {
        if (data.length >= ControlFrameDescriptor.HEADER_BYTES) {
            // Nobody guesses a checksum; the fuzzer gets past it so.
            ByteBuffer.wrap(data)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(ControlFrameDescriptor.CHECKSUM, ControlFrameDescriptor.checksum(data));
        }
        Frame frame = ControlFrameDescriptor.decode(data);
        if (frame != null) {
            assertThat(frame.payload().length).isLessThanOrEqualTo(data.length);
            Frame again = ControlFrameDescriptor.decode(ControlFrameDescriptor.encode(frame));
            assertThat(again).usingRecursiveComparison().isEqualTo(frame);
        }
    }
}
