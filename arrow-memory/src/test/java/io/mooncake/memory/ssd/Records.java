// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockKey;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.arrow.memory.util.MemoryUtil;

/** Records of tests: each word is a function of the key's number and of its place, so that any mix-up shows. */
final class Records {
    static final String IDENTITY = "0123456789abcdef".repeat(4);

    private Records() {}

    static SsdSettings.Builder settings(Path path, int recordBytes, int slots) {
        return SsdSettings.builder(path, "node-a", IDENTITY, recordBytes, (long) recordBytes * slots)
                .segmentBytes(8L * recordBytes)
                .commitMillis(0)
                .scrubBytesPerSecond(0);
    }

    static BlockKey key(long number) {
        return new BlockKey(mix(number), mix(number + 1), number, ~number);
    }

    static long number(BlockKey key) {
        return key.word2();
    }

    static ByteBuffer memory(int bytes) {
        return IndexDescriptor.aligned(bytes);
    }

    static long address(ByteBuffer memory) {
        return MemoryUtil.getByteBufferAddress(memory);
    }

    static void fill(ByteBuffer memory, long number) {
        for (int i = 0; i < memory.capacity(); i += 8) {
            memory.putLong(i, word(number, i));
        }
    }

    static boolean matches(ByteBuffer memory, long number) {
        for (int i = 0; i < memory.capacity(); i += 8) {
            if (memory.getLong(i) != word(number, i)) {
                return false;
            }
        }
        return true;
    }

    private static long word(long number, int offset) {
        return mix(number * 0x1_0000_0001L + offset);
    }

    private static long mix(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return mixed ^ (mixed >>> 31);
    }

    static Deadline soon() {
        return Deadline.ofMillis(60_000);
    }

    /** Puts a record and waits until it is over. */
    static SsdOutcome put(SsdStore store, long number, SsdTicket.Until until) {
        ByteBuffer memory = memory(store.recordBytes());
        fill(memory, number);
        SsdTicket ticket = new SsdTicket(until);
        store.put(key(number), address(memory), ticket, soon());
        return ended(ticket, memory);
    }

    static SsdOutcome putSynced(SsdStore store, long number) {
        return put(store, number, SsdTicket.Until.SYNCED);
    }

    /** Loads a record; what is loaded must be right. */
    static SsdOutcome load(SsdStore store, long number) {
        ByteBuffer memory = memory(store.recordBytes());
        SsdTicket ticket = new SsdTicket();
        store.load(key(number), address(memory), ticket, soon());
        SsdOutcome outcome = ended(ticket, memory);
        if (outcome == SsdOutcome.LOADED) {
            assertThat(matches(memory, number))
                    .as(String.format(Locale.ROOT, "bytes of record %d", number))
                    .isTrue();
        }
        return outcome;
    }

    private static SsdOutcome ended(SsdTicket ticket, ByteBuffer memory) {
        SsdOutcome outcome = ticket.await(soon());
        assertThat(outcome).isNotEqualTo(SsdOutcome.PENDING);
        // It must live until here.
        memory.get(0);
        return outcome;
    }
}
