// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import java.io.IOException;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of RDMA's control frames refuse them with a typed error, or read what the encoders write. */
public final class RdmaFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(RdmaFrameFuzzTest.class, RdmaFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, RdmaFrameFuzzTest::connect, RdmaFrameFuzzTest::access, RdmaFrameFuzzTest::region);
    }

    private static void connect(byte[] data) {
        requireStable(data, RdmaFrameDescriptor::decodeConnect, RdmaFrameDescriptor::encodeConnect);
        requireStable(data, RdmaFrameDescriptor::decodeConnected, RdmaFrameDescriptor::encodeConnected);
        requireStable(data, RdmaFrameDescriptor::decodeHangUp, RdmaFrameDescriptor::encodeHangUp);
    }

    private static void access(byte[] data) {
        requireStable(data, RdmaFrameDescriptor::decodeOpen, RdmaFrameDescriptor::encodeOpen);
        requireStable(data, RdmaFrameDescriptor::decodeClose, RdmaFrameDescriptor::encodeClose);
        requireStable(data, RdmaFrameDescriptor::decodeClosed, RdmaFrameDescriptor::encodeClosed);
        requireStable(
                data,
                bytes -> java.util.Optional.ofNullable(RdmaFrameDescriptor.decodeOpened(bytes)),
                grants -> RdmaFrameDescriptor.encodeOpened(grants.orElse(null)));
    }

    private static void region(byte[] data) {
        requireStable(data, RdmaRegionFrameDescriptor::decodeAsk, RdmaRegionFrameDescriptor::encodeAsk);
        requireStable(
                data, bytes -> RdmaRegionFrameDescriptor.decodeKnown(bytes, 1), RdmaRegionFrameDescriptor::encodeKnown);
    }

    private static <T> void requireStable(byte[] data, Function<byte[], T> decode, Function<T, byte[]> encode) {
        T value;
        try {
            value = decode.apply(data);
        } catch (MooncakeException e) {
            assertThat(e.code()).isIn(MooncakeException.Code.CORRUPT, MooncakeException.Code.PEER_REFUSED);
            return;
        }
        assertThat(decode.apply(encode.apply(value))).usingRecursiveComparison().isEqualTo(value);
    }
}
