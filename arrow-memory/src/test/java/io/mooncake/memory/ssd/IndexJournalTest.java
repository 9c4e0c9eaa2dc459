// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The index by itself, over real files. */
final class IndexJournalTest {
    private static final int RECORDS = 200_000;
    private static final long LIMIT_NANOS = 2_000_000_000L;

    @TempDir
    Path folder;

    private static IndexJournal journal(FileDevice device, SsdSettings settings) {
        return new IndexJournal(device, settings, 7);
    }

    @Test
    void recover_twoHundredThousandRecords_takesLessThanTwoSeconds() throws IOException {
        SsdSettings settings = Records.settings(folder, 4096, RECORDS).build();
        FileDevice device = FileDevice.open(settings);
        SlotTable written = new SlotTable(RECORDS);
        for (int i = 0; i < RECORDS / 2; i++) {
            written.recover(Records.key(i), i + 1, i, ~i);
        }
        try (IndexJournal journal = journal(device, settings)) {
            journal.recover(new SlotTable(RECORDS));
            journal.checkpoint(written);
            // The other half is in commits behind the snapshot.
            for (int i = RECORDS / 2; i < RECORDS; i++) {
                journal.add(Records.key(i), i + 1, i, ~i, IndexDescriptor.ENTRY_STORED);
                if (i % 1000 == 999) {
                    journal.commit();
                }
            }
        }
        long best = Long.MAX_VALUE;
        for (int run = 0; run < 3 || run < 10 && best >= LIMIT_NANOS; run++) {
            long start = System.nanoTime();
            SlotTable found = new SlotTable(RECORDS);
            try (IndexJournal journal = journal(device, settings)) {
                assertThat(journal.recover(found)).isNotNull();
                assertThat(journal.maxGeneration()).isEqualTo(RECORDS);
            }
            best = Math.min(best, System.nanoTime() - start);
            assertThat(found.live()).isEqualTo(RECORDS);
            for (int i = 0; i < RECORDS; i += 997) {
                int slot = found.pin(Records.key(i));
                assertThat(slot).isEqualTo(i);
                assertThat(found.crc(slot)).isEqualTo(~i);
            }
        }
        System.out.println("recovery of " + RECORDS + " records: " + best / 1_000_000 + " ms");
        // Other processes of the machine may hold up all runs but one.
        assertThat(best).isLessThan(LIMIT_NANOS);
        device.close();
    }
}
