// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.LeaseSource.Pin;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.RemoteLease.Element;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The lease payloads do not change, and no bytes upset their decoders. */
final class LeaseFrameDescriptorTest {
    private static final String REQUEST =
            "03" + "02" + "6b76" + "00ca9a3b00000000" + "0200" + "0300" + "010203" + "0000";
    private static final String REPLY = "03" + "0700000000000000" + "00e1f50500000000" + "0300" + "00" + "02" + "01"
            + "05000000"
            + "0600000000000000" + "0010000000000000" + "1000000000000000" + "2a00000000000000" + "ab".repeat(32)
            + "08000000" + "02000000" + "01000000" + "ffffffff" + "01000000" + "58"
            + "2800000000000000";

    private record FixedPin(
            int region,
            long generation,
            long offset,
            int length,
            int segmentLength,
            int[] checksums,
            byte[] description)
            implements Pin {
        @Override
        public void close() {}
    }

    private static byte[] reply() {
        Pin pin = new FixedPin(5, 6, 4096, 16, 8, new int[] {1, -1}, new byte[] {'X'});
        byte[] capability = new byte[32];
        Arrays.fill(capability, (byte) 0xab);
        RemoteHandle handle = new RemoteHandle(5, 6, 4096, 16, false, 42, capability);
        BitSet deferred = new BitSet();
        deferred.set(1);
        List<@Nullable Pin> pins = new ArrayList<>(Arrays.asList(null, null, pin));
        return LeaseFrameDescriptor.encodeReply(
                7, 100_000_000, pins, new RemoteHandle[] {null, null, handle}, new long[] {0, 0, 40}, deferred);
    }

    private static byte[] request() {
        return LeaseFrameDescriptor.encodeRequest("kv", 1_000_000_000, List.of(new byte[] {1, 2, 3}, new byte[0]));
    }

    @Test
    void encode_frames_areGolden() {
        assertThat(HexFormat.of().formatHex(request())).isEqualTo(REQUEST);
        assertThat(HexFormat.of().formatHex(reply())).isEqualTo(REPLY);
        assertThat(HexFormat.of().formatHex(LeaseFrameDescriptor.encodeRelease(3, 5)))
                .isEqualTo("0303000000000000000500000000000000");
    }

    @Test
    void decode_golden_givesTheFields() {
        LeaseFrameDescriptor.Request request =
                LeaseFrameDescriptor.decodeRequest(HexFormat.of().parseHex(REQUEST));
        assertThat(request.namespace()).isEqualTo("kv");
        assertThat(request.keys()).hasSize(2);
        LeaseFrameDescriptor.Reply reply =
                LeaseFrameDescriptor.decodeReply(HexFormat.of().parseHex(REPLY));
        assertThat(reply.lease()).isEqualTo(7);
        assertThat(reply.elements().get(0)).isNull();
        assertThat(reply.elements().get(1)).isNull();
        assertThat(reply.deferred().stream()).containsExactly(1);
        Element element = reply.elements().get(2);
        assertThat(element.checksums()).containsExactly(1, -1);
        assertThat(element.handle().generation()).isEqualTo(6);
    }

    @Test
    void decode_randomAndMutated_failsTypedOnly() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("decode_randomAndMutated mooncake.seed=" + seed);
        Random random = new Random(seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 2_000_000 : 60_000;
        List<Consumer<byte[]>> decoders = List.of(
                LeaseFrameDescriptor::decodeRequest,
                LeaseFrameDescriptor::decodeReply,
                LeaseFrameDescriptor::decodeRelease);
        for (int i = 0; i < rounds; i++) {
            byte[] good = random.nextBoolean() ? request() : reply();
            byte[] bytes = Arrays.copyOf(good, random.nextInt(good.length + 8));
            for (int flips = random.nextInt(5); flips > 0 && bytes.length > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            for (Consumer<byte[]> decoder : decoders) {
                try {
                    decoder.accept(bytes);
                } catch (MooncakeException expected) {
                    assertThat(expected.code()).isNotEqualTo(MooncakeException.Code.INTERNAL);
                }
            }
        }
    }
}
