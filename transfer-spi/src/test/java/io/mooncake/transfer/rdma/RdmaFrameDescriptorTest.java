// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Close;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connect;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connected;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Grant;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Open;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Opened;
import io.mooncake.transfer.rdma.RdmaPort.Endpoint;
import io.mooncake.transfer.rdma.RdmaRegionFrameDescriptor.Known;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

final class RdmaFrameDescriptorTest {
    private static final Endpoint ENDPOINT =
            new Endpoint(5, 0x1234, HexFormat.of().parseHex("00000000000000000000ffff0a630001"), 0x11, 0xabcdef);

    private static final byte[] OPEN = RdmaFrameDescriptor.encodeOpen(new Open(
            9,
            true,
            new long[] {3, 4},
            new RemoteHandle[] {new RemoteHandle(1, 2, 4096, 8192, true, 77, new byte[] {1, 2, 3})},
            new long[] {100}));

    private static final byte[] OPENED = RdmaFrameDescriptor.encodeOpened(new Opened(
            new int[] {0, 3},
            List.of(
                    new Grant(TransferStatus.COMPLETED, 0x7f0000001000L, 4096, 65536, new int[] {0x10, 0x20}),
                    Grant.refused(TransferStatus.STALE_GENERATION))));

    private static final byte[] ASK =
            RdmaRegionFrameDescriptor.encodeAsk(new RemoteHandle(1, 2, 4096, 8192, false, 77, new byte[] {1, 2, 3}));

    private static final byte[] KNOWN = RdmaRegionFrameDescriptor.encodeKnown(new Known(
            TransferStatus.COMPLETED,
            new PeerRegion(7, 0x7f0000001000L, 0x30000, 0x20000, 2, new int[] {0x10, 0x20, 0x30, 0x40})));

    @Test
    void encode_connect_isTheFixedLayout() {
        assertThat(HexFormat.of().formatHex(RdmaFrameDescriptor.encodeConnect(new Connect(2, ENDPOINT))))
                .isEqualTo("01" + "02" + "05" + "3412" + "00000000000000000000ffff0a630001" + "11000000" + "efcdab00");
    }

    @Test
    void encode_open_isTheFixedLayout() {
        assertThat(HexFormat.of().formatHex(OPEN))
                .isEqualTo("01" + "0900000000000000" + "01" + "0200" + "0300000000000000" + "0400000000000000" + "0100"
                        + "01000000" + "0200000000000000" + "0010000000000000" + "0020000000000000" + "01"
                        + "4d00000000000000" + "03010203" + "6400000000000000");
    }

    @Test
    void encode_opened_isTheFixedLayout() {
        assertThat(HexFormat.of().formatHex(OPENED))
                .isEqualTo("01" + "01" + "020003" + "0200" + "00" + "00100000007f0000" + "0010000000000000"
                        + "0000010000000000" + "0200" + "10000000" + "20000000" + "01");
    }

    @Test
    void encode_regionAsked_isTheFixedLayout() {
        assertThat(HexFormat.of().formatHex(ASK))
                .isEqualTo("01" + "01000000" + "0200000000000000" + "0010000000000000" + "0020000000000000" + "00"
                        + "4d00000000000000" + "03010203");
        assertThat(RdmaRegionFrameDescriptor.encodeAsk(RdmaRegionFrameDescriptor.decodeAsk(ASK)))
                .isEqualTo(ASK);
    }

    @Test
    void encode_regionKnown_isTheFixedLayout() {
        assertThat(HexFormat.of().formatHex(KNOWN))
                .isEqualTo("01" + "00" + "00100000007f0000" + "0000030000000000" + "0000020000000000" + "02" + "0400"
                        + "10000000" + "20000000" + "30000000" + "40000000");
        Known known = RdmaRegionFrameDescriptor.decodeKnown(KNOWN, 7);
        assertThat(RdmaRegionFrameDescriptor.encodeKnown(known)).isEqualTo(KNOWN);
        PeerRegion region = known.region();
        assertThat(region.id()).isEqualTo(7);
        // The second device's key for the second piece, of which half is left.
        assertThat(region.key(1, 0x28000)).isEqualTo(0x40);
        assertThat(region.bytesInPiece(0x28000)).isEqualTo(0x18000);
        assertThatThrownBy(() -> region.key(2, 0)).hasMessageContaining("rail: 2 (expected: below 2)");
        assertThat(region.contains(0x20000, 0x10000)).isTrue();
        assertThat(region.contains(0x20000, 0x10001)).isFalse();
        Known refused = new Known(TransferStatus.STALE_GENERATION, null);
        assertThat(RdmaRegionFrameDescriptor.decodeKnown(RdmaRegionFrameDescriptor.encodeKnown(refused), 7))
                .isEqualTo(refused);
    }

    @Test
    void decode_regionWhosePiecesAndKeysDiffer_isCorrupt() {
        for (int wrong : new int[] {10, 18, 26}) {
            byte[] frame = KNOWN.clone();
            // Lengths of nothing, or of more pieces than there are keys.
            Arrays.fill(frame, wrong, wrong + (wrong == 26 ? 1 : 8), (byte) (wrong == 10 ? 0x7f : 0));
            assertThatThrownBy(() -> RdmaRegionFrameDescriptor.decodeKnown(frame, 1))
                    .extracting("code")
                    .isEqualTo(MooncakeException.Code.CORRUPT);
        }
    }

    /** It would count as nothing among a peer's open requests. */
    @Test
    void decode_openOfNoRequests_isCorrupt() {
        byte[] frame =
                RdmaFrameDescriptor.encodeOpen(new Open(7, false, new long[] {1}, new RemoteHandle[0], new long[0]));
        assertThatThrownBy(() -> RdmaFrameDescriptor.decodeOpen(frame))
                .extracting("code")
                .isEqualTo(MooncakeException.Code.CORRUPT);
    }

    @Test
    void decode_whatWasEncoded_isTheSame() {
        Connect connect = new Connect(7, ENDPOINT);
        assertThat(RdmaFrameDescriptor.decodeConnect(RdmaFrameDescriptor.encodeConnect(connect)))
                .usingRecursiveComparison()
                .isEqualTo(connect);
        Connected connected = new Connected(5, 1, 2, ENDPOINT);
        assertThat(RdmaFrameDescriptor.decodeConnected(RdmaFrameDescriptor.encodeConnected(connected)))
                .usingRecursiveComparison()
                .isEqualTo(connected);
        Open open = RdmaFrameDescriptor.decodeOpen(OPEN);
        assertThat(RdmaFrameDescriptor.encodeOpen(open)).isEqualTo(OPEN);
        assertThat(RdmaFrameDescriptor.encodeOpened(RdmaFrameDescriptor.decodeOpened(OPENED)))
                .isEqualTo(OPENED);
        assertThat(RdmaFrameDescriptor.decodeOpened(RdmaFrameDescriptor.encodeOpened(null)))
                .isNull();
        Close close = new Close(7, new long[] {4, 9}, new boolean[] {true, false});
        assertThat(RdmaFrameDescriptor.decodeClose(RdmaFrameDescriptor.encodeClose(close)))
                .usingRecursiveComparison()
                .isEqualTo(close);
        TransferStatus[] statuses = {
            TransferStatus.COMPLETED,
            TransferStatus.LEASE_EXPIRED,
            TransferStatus.CANCELED,
            TransferStatus.STALE_GENERATION,
            TransferStatus.DEVICE_FAILED
        };
        assertThat(RdmaFrameDescriptor.decodeClosed(RdmaFrameDescriptor.encodeClosed(statuses)))
                .containsExactly(statuses);
        assertThat(RdmaFrameDescriptor.decodeHangUp(RdmaFrameDescriptor.encodeHangUp(new long[] {1, -1})))
                .containsExactly(1, -1);
    }

    @Test
    void encode_grantThatIsToGoAnotherWay_isDecodedAsSuch() {
        byte[] frame = RdmaFrameDescriptor.encodeOpened(
                new Opened(new int[] {0}, List.of(Grant.refused(RdmaAccess.NOT_THIS_WAY))));
        assertThat(RdmaFrameDescriptor.decodeOpened(frame).grants().get(0).status())
                .isEqualTo(RdmaAccess.NOT_THIS_WAY);
    }

    @Test
    void decode_cutOrPadded_isCorrupt() {
        assertEveryLengthButTheRightOneIsCorrupt(OPEN, RdmaFrameDescriptor::decodeOpen);
        assertEveryLengthButTheRightOneIsCorrupt(OPENED, RdmaFrameDescriptor::decodeOpened);
        assertEveryLengthButTheRightOneIsCorrupt(ASK, RdmaRegionFrameDescriptor::decodeAsk);
        assertEveryLengthButTheRightOneIsCorrupt(KNOWN, frame -> RdmaRegionFrameDescriptor.decodeKnown(frame, 7));
        assertEveryLengthButTheRightOneIsCorrupt(
                RdmaFrameDescriptor.encodeConnect(new Connect(0, ENDPOINT)), RdmaFrameDescriptor::decodeConnect);
        assertEveryLengthButTheRightOneIsCorrupt(
                RdmaFrameDescriptor.encodeClose(new Close(1, new long[2], new boolean[3])),
                RdmaFrameDescriptor::decodeClose);
    }

    private static void assertEveryLengthButTheRightOneIsCorrupt(byte[] frame, Consumer<byte[]> decoder) {
        decoder.accept(frame);
        for (int length = 0; length <= frame.length + 1; length++) {
            if (length != frame.length) {
                byte[] other = Arrays.copyOf(frame, length);
                assertThatThrownBy(() -> decoder.accept(other))
                        .isInstanceOf(MooncakeException.class)
                        .extracting("code")
                        .isEqualTo(MooncakeException.Code.CORRUPT);
            }
        }
    }

    @Test
    void decode_randomBytes_throwsOursOrDecodes() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("decode_randomBytes mooncake.seed=" + seed);
        Random random = new Random(seed);
        List<Consumer<byte[]>> decoders = List.of(
                RdmaFrameDescriptor::decodeOpen,
                RdmaFrameDescriptor::decodeOpened,
                RdmaFrameDescriptor::decodeConnect,
                RdmaFrameDescriptor::decodeConnected,
                RdmaFrameDescriptor::decodeClose,
                RdmaFrameDescriptor::decodeClosed,
                RdmaFrameDescriptor::decodeHangUp,
                RdmaRegionFrameDescriptor::decodeAsk,
                frame -> RdmaRegionFrameDescriptor.decodeKnown(frame, 1));
        int rounds = Boolean.getBoolean("mooncake.long") ? 2_000_000 : 50_000;
        for (int round = 0; round < rounds; round++) {
            byte[] frame;
            if (random.nextBoolean()) {
                frame = new byte[random.nextInt(120)];
                random.nextBytes(frame);
                if (frame.length > 0) {
                    frame[0] = 1;
                }
            } else {
                frame = List.of(OPEN, OPENED, ASK, KNOWN).get(random.nextInt(4)).clone();
                frame[random.nextInt(frame.length)] ^= (byte) (1 << random.nextInt(8));
            }
            try {
                decoders.get(random.nextInt(decoders.size())).accept(frame);
            } catch (MooncakeException expected) {
                assertThat(expected.code())
                        .as("seed %d round %d", seed, round)
                        .isIn(MooncakeException.Code.CORRUPT, MooncakeException.Code.PEER_REFUSED);
            }
        }
    }
}
