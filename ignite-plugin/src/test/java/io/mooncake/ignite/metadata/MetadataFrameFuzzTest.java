// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.metadata.MetadataFrameDescriptor.Frame;
import io.mooncake.ignite.metadata.MetadataFrameDescriptor.Type;
import io.mooncake.transfer.FuzzCorpus;
import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoder of metadata takes them for no frame, or reads what the encoders write. */
public final class MetadataFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(MetadataFrameFuzzTest.class, MetadataFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, MetadataFrameFuzzTest::decode);
    }

    private static void decode(byte[] data) {
        Optional<Frame> decoded = MetadataFrameDescriptor.decode(data);
        if (decoded.isEmpty()) {
            return;
        }
        Frame frame = decoded.get();
        byte[] again =
                switch (frame.type()) {
                    case CHANGE ->
                        MetadataFrameDescriptor.change(
                                frame.owner(), frame.sequence(), frame.entries().get(0));
                    case SNAPSHOT ->
                        MetadataFrameDescriptor.snapshot(
                                frame.owner(), frame.sequence(), frame.part(), frame.parts(), frame.entries());
                    case HELLO, DIGEST, BYE ->
                        MetadataFrameDescriptor.plain(frame.type(), frame.owner(), frame.sequence());
                };
        assertThat(again).isEqualTo(data);
        if (frame.type() == Type.SNAPSHOT) {
            assertThat(frame.part()).isBetween(0, frame.parts() - 1);
        }
    }
}
