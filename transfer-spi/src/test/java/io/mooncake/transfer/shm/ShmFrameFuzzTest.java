// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import io.mooncake.transfer.RemoteHandle;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of shared memory refuse them with a typed error, or read what the encoders write. */
public final class ShmFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(ShmFrameFuzzTest.class, ShmFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(
                input,
                ShmFrameFuzzTest::attach,
                ShmFrameFuzzTest::attached,
                ShmFrameFuzzTest::open,
                ShmFrameFuzzTest::opened);
    }

    private static void attach(byte[] data) {
        try {
            ShmFrameDescriptor.Attach attach = ShmFrameDescriptor.decodeAttach(data);
            ShmFrameDescriptor.Page page = attach.page();
            if (page != null) {
                assertThat(page.path().length()).isLessThanOrEqualTo(data.length);
            }
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void attached(byte[] data) {
        try {
            ShmFrameDescriptor.Attached attached = ShmFrameDescriptor.decodeAttached(data);
            assertThat(attached.token().length + attached.reason().length()).isLessThanOrEqualTo(data.length);
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void open(byte[] data) {
        try {
            List<RemoteHandle> handles = ShmFrameDescriptor.decodeOpen(data);
            assertThat(ShmFrameDescriptor.decodeOpen(ShmFrameDescriptor.encodeOpen(handles)))
                    .usingRecursiveComparison()
                    .isEqualTo(handles);
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void opened(byte[] data) {
        try {
            List<ShmFrameDescriptor.Opened> opened = ShmFrameDescriptor.decodeOpened(data, 1);
            assertThat(ShmFrameDescriptor.encodeOpened(opened)).isEqualTo(data);
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
