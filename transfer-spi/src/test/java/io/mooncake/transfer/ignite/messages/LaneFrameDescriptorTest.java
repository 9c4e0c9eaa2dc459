// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Answer;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Piece;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Question;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What lanes say on the wire does not change, and what is none of it is refused. */
final class LaneFrameDescriptorTest {
    private static final UUID NODE = new UUID(0x1111111122222222L, 0x3333333344444444L);
    private static final String HEAD = "0a0b0c0d" + "0807060504030201" + "2222222211111111" + "4444444433333333";
    private static final String BATCH = "01010000" + HEAD + "02000000" + "03000000" + "070809" + "00000000";
    private static final String PIECE = "01020000" + HEAD + "00001000" + "00020000" + "78563412" + "01" + "05000000"
            + "0600000000000000" + "0010000000000000" + "0004000000000000" + "0700000000000000" + "0400" + "a1a2a3a4";
    private static final String PROGRESS = "01030000" + HEAD + "00000200";
    private static final String PING = "01040000" + HEAD;
    private static final String ANSWER = "01040000" + "00000200" + "0900000000000000";

    private static final Piece PART = new Piece(
            1 << 20,
            512,
            0x12345678,
            true,
            new RemoteHandle(5, 6, 4096, 1024, false, 7, HexFormat.of().parseHex("a1a2a3a4")));

    private static Question head(int kind) {
        return new Question(kind, 0x0d0c0b0a, 0x0102030405060708L, NODE);
    }

    private static ByteBuffer body(String frame, int kind) {
        ByteBuffer from = LaneFrameDescriptor.open(HexFormat.of().parseHex(frame));
        assertThat(LaneFrameDescriptor.question(from)).isEqualTo(head(kind));
        return from;
    }

    private static void assertGolden(byte[] frame, String golden) {
        assertThat(HexFormat.of().formatHex(frame)).isEqualTo(golden);
    }

    @Test
    void encode_allFrames_areGolden() {
        assertGolden(
                LaneFrameDescriptor.batch(head(LaneFrameDescriptor.BATCH), List.of(new byte[] {7, 8, 9}, new byte[0])),
                BATCH);
        assertGolden(LaneFrameDescriptor.piece(head(LaneFrameDescriptor.PIECE), PART), PIECE);
        assertGolden(LaneFrameDescriptor.progress(head(LaneFrameDescriptor.PROGRESS), 2 << 16), PROGRESS);
        assertGolden(
                LaneFrameDescriptor.question(head(LaneFrameDescriptor.PING), 0).array(), PING);
        assertGolden(LaneFrameDescriptor.answer(LaneFrameDescriptor.READING, 2 << 16, 9), ANSWER);
    }

    @Test
    void decode_golden_areTheFrames() {
        assertThat(LaneFrameDescriptor.messages(body(BATCH, LaneFrameDescriptor.BATCH)))
                .containsExactly(new byte[] {7, 8, 9}, new byte[0]);
        assertThat(LaneFrameDescriptor.piece(body(PIECE, LaneFrameDescriptor.PIECE)))
                .usingRecursiveComparison()
                .isEqualTo(PART);
        assertThat(LaneFrameDescriptor.filled(body(PROGRESS, LaneFrameDescriptor.PROGRESS)))
                .isEqualTo(2 << 16);
        assertThat(body(PING, LaneFrameDescriptor.PING).hasRemaining()).isFalse();
        assertThat(LaneFrameDescriptor.answer(HexFormat.of().parseHex(ANSWER)))
                .isEqualTo(new Answer(LaneFrameDescriptor.READING, 2 << 16, 9));
    }

    private static void decode(String frame) {
        ByteBuffer from = LaneFrameDescriptor.open(HexFormat.of().parseHex(frame));
        switch (LaneFrameDescriptor.question(from).kind()) {
            case LaneFrameDescriptor.BATCH -> LaneFrameDescriptor.messages(from);
            case LaneFrameDescriptor.PIECE -> LaneFrameDescriptor.piece(from);
            case LaneFrameDescriptor.PROGRESS -> LaneFrameDescriptor.filled(from);
            default -> throw new IllegalStateException(frame);
        }
    }

    private static void assertRefused(String frame) {
        assertThatThrownBy(() -> decode(frame))
                .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                        .isIn(MooncakeException.Code.CORRUPT, MooncakeException.Code.INVALID_ARGUMENT));
    }

    @Test
    void decode_cutOrLonger_isRefused() {
        for (String frame : List.of(BATCH, PIECE, PROGRESS)) {
            for (int digits = 0; digits < frame.length(); digits += 2) {
                assertRefused(frame.substring(0, digits));
            }
            assertRefused(frame + "00");
        }
        for (int digits = 0; digits < ANSWER.length(); digits += 2) {
            byte[] cut = HexFormat.of().parseHex(ANSWER.substring(0, digits));
            assertThatThrownBy(() -> LaneFrameDescriptor.answer(cut)).isInstanceOf(MooncakeException.class);
        }
    }

    @Test
    void decode_otherVersionKindOrLimits_isRefused() {
        assertRefused("02" + BATCH.substring(2));
        assertRefused("0100" + BATCH.substring(4));
        assertRefused("0105" + BATCH.substring(4));
        assertRefused("010101" + BATCH.substring(6));
        String head = BATCH.substring(0, 64);
        assertRefused(head + "00000000");
        assertRefused(head + "01040000" + "00000000".repeat(1025));
        assertRefused(head + "01000000" + "ffffffff");
        assertRefused(head + "01000000" + "ffffff7f");
        // A piece longer than its handle, than a lane's memory, of no length, or past the end of what a message can
        // have.
        assertRefused(PIECE.replace("00020000" + "78563412", "01040000" + "78563412"));
        assertRefused(PIECE.replace("00020000" + "78563412", "00000000" + "78563412"));
        assertRefused(PIECE.replace("00020000" + "78563412", "ffffff7f" + "78563412"));
        assertRefused(PIECE.replace("00001000", "ffffff7f"));
        assertRefused(PIECE.replace("00001000", "ffffffff"));
        // Whether it is the last one is yes or no.
        assertRefused(PIECE.replace("78563412" + "01", "78563412" + "02"));
    }
}
