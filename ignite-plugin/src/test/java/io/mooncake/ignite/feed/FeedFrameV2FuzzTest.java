// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of version 2 refuse them with a typed error, or read what the encoders write. */
public final class FeedFrameV2FuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(FeedFrameV2FuzzTest.class, FeedFrameV2FuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, FeedFrameV2FuzzTest::frame, FeedFrameV2FuzzTest::query);
    }

    private static void frame(byte[] data) {
        try {
            FeedFrame frame = FeedFrameV2Descriptor.decode(data);
            if (frame.pool().indexOf('\ufffd') < 0) {
                assertThat(frame.encode(2)).isEqualTo(data);
            }
            // Numbers may be written longer than they need, and chains may be told link by link: the events are the
            // same.
            List<BlockEvent> events = frame.events();
            FeedFrame again = new FeedFrame(
                    frame.kind(), frame.incarnation(), "p", frame.first(), 0, frame.count(), FeedFrame.records(events));
            assertThat(FeedFrame.decode(again.encode(2)).events()).isEqualTo(events);
            assertThat(FeedFrame.decode(again.encode(1)).count()).isEqualTo(frame.count());
        } catch (MooncakeException e) {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.CORRUPT);
        }
    }

    private static void query(byte[] data) {
        try {
            FeedFrameDescriptor.Query query = FeedFrameV2Descriptor.decodeQuery(data);
            if (query.pool().indexOf('\ufffd') < 0) {
                assertThat(FeedFrameV2Descriptor.encode(query)).isEqualTo(data);
            }
        } catch (MooncakeException e) {
            assertThat(e.code()).isEqualTo(MooncakeException.Code.CORRUPT);
        }
    }
}
