// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of feeds refuse them with a typed error, or read what the encoders write. */
public final class FeedFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(FeedFrameFuzzTest.class, FeedFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, FeedFrameFuzzTest::frame, FeedFrameFuzzTest::query);
    }

    private static void frame(byte[] data) {
        try {
            FeedFrameDescriptor.Frame frame = FeedFrameDescriptor.decodeFrame(data);
            if (frame.pool().indexOf('\ufffd') < 0) {
                assertThat(FeedFrameDescriptor.encode(frame)).isEqualTo(data);
            }
        } catch (MooncakeException e) {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.CORRUPT);
        }
    }

    private static void query(byte[] data) {
        try {
            FeedFrameDescriptor.Query query = FeedFrameDescriptor.decodeQuery(data);
            if (query.pool().indexOf('\ufffd') < 0) {
                assertThat(FeedFrameDescriptor.encode(query)).isEqualTo(data);
            }
        } catch (MooncakeException e) {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.CORRUPT);
        }
    }
}
