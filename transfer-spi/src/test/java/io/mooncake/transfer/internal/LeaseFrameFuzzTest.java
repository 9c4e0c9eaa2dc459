// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of leases refuse them with a typed error, or read what the encoders write. */
public final class LeaseFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(LeaseFrameFuzzTest.class, LeaseFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, LeaseFrameFuzzTest::request, LeaseFrameFuzzTest::reply, LeaseFrameFuzzTest::release);
    }

    private static void request(byte[] data) {
        try {
            LeaseFrameDescriptor.Request request = LeaseFrameDescriptor.decodeRequest(data);
            LeaseFrameDescriptor.Request again = LeaseFrameDescriptor.decodeRequest(
                    LeaseFrameDescriptor.encodeRequest(request.namespace(), request.termNanos(), request.keys()));
            assertThat(again).usingRecursiveComparison().isEqualTo(request);
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void reply(byte[] data) {
        try {
            LeaseFrameDescriptor.Reply reply = LeaseFrameDescriptor.decodeReply(data);
            reply.elements().forEach(element -> {
                if (element != null) {
                    assertThat(element.segmentLength()).isPositive();
                    assertThat((long) element.segmentLength() * element.checksums().length)
                            .isEqualTo(element.handle().length());
                }
            });
        } catch (MooncakeException e) {
            assertThat(e.code()).isIn(MooncakeException.Code.CORRUPT, MooncakeException.Code.PEER_REFUSED);
        }
    }

    private static void release(byte[] data) {
        try {
            LeaseFrameDescriptor.Release release = LeaseFrameDescriptor.decodeRelease(data);
            assertThat(LeaseFrameDescriptor.encodeRelease(release.lease(), release.copiedBytes()))
                    .isEqualTo(data);
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void requireTyped(MooncakeException e) {
        assertThat(e.code())
                .isIn(
                        MooncakeException.Code.CORRUPT,
                        MooncakeException.Code.PEER_REFUSED,
                        MooncakeException.Code.INVALID_ARGUMENT);
    }
}
