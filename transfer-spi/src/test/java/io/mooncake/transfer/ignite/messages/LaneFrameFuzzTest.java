// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.FuzzCorpus;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Answer;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Piece;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Question;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever bytes arrive: the decoders of lanes refuse them with a typed error, or read what the encoders write. */
public final class LaneFrameFuzzTest {
    @Test
    void decode_corpusAndMutations_areRefusedOrComeBack() throws IOException {
        FuzzCorpus.replay(LaneFrameFuzzTest.class, LaneFrameFuzzTest::fuzzerTestOneInput);
    }

    /** Entry of a coverage-guided fuzzer. */
    public static void fuzzerTestOneInput(byte[] input) {
        FuzzCorpus.choose(input, LaneFrameFuzzTest::question, LaneFrameFuzzTest::answer);
    }

    private static void question(byte[] data) {
        try {
            ByteBuffer from = LaneFrameDescriptor.open(data);
            Question question = LaneFrameDescriptor.question(from);
            byte[] again =
                    switch (question.kind()) {
                        case LaneFrameDescriptor.BATCH -> batch(question, from, data.length);
                        case LaneFrameDescriptor.PIECE -> piece(question, from);
                        case LaneFrameDescriptor.PROGRESS ->
                            LaneFrameDescriptor.progress(question, LaneFrameDescriptor.filled(from));
                        // Of a ping the head alone is read.
                        default ->
                            Arrays.copyOf(
                                    LaneFrameDescriptor.question(question, 0).array(), data.length);
                    };
            assertThat(again).startsWith(Arrays.copyOf(data, LaneFrameDescriptor.HEADER_BYTES));
            assertThat(again).hasSameSizeAs(data);
            assertThat(question.kind() == LaneFrameDescriptor.PING || Arrays.equals(again, data))
                    .isTrue();
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static byte[] batch(Question question, ByteBuffer from, int most) {
        List<byte[]> messages = LaneFrameDescriptor.messages(from);
        assertThat(messages).hasSizeBetween(1, LaneFrameDescriptor.MAX_COUNT);
        assertThat(messages.stream().mapToInt(message -> message.length).sum()).isLessThan(most);
        return LaneFrameDescriptor.batch(question, messages);
    }

    private static byte[] piece(Question question, ByteBuffer from) {
        Piece piece = LaneFrameDescriptor.piece(from);
        assertThat(piece.length()).isBetween(1, LaneMemory.BYTES);
        assertThat((long) piece.length()).isLessThanOrEqualTo(piece.handle().length());
        assertThat(piece.offset() + piece.length()).isPositive();
        assertThat(piece.handle().writable()).isFalse();
        return LaneFrameDescriptor.piece(question, piece);
    }

    private static void answer(byte[] data) {
        try {
            Answer answer = LaneFrameDescriptor.answer(data);
            assertThat(LaneFrameDescriptor.answer(answer.outcome(), answer.filled(), answer.next()))
                    .isEqualTo(data);
        } catch (MooncakeException e) {
            requireTyped(e);
        }
    }

    private static void requireTyped(MooncakeException e) {
        assertThat(e.code()).isIn(MooncakeException.Code.CORRUPT, MooncakeException.Code.INVALID_ARGUMENT);
    }
}
