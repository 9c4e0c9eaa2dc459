// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class MemoryMetadataStoreTest extends MetadataStoreContract {
    private final String cluster = UUID.randomUUID().toString();

    @Override
    protected MetadataStore openNode() {
        return MetadataStore.open("memory", MetadataContext.of(cluster));
    }

    @Test
    void open_otherNameOrCluster_seesNothing() {
        try (MetadataStore here = MetadataStore.open("memory://a", MetadataContext.of(cluster));
                MetadataStore there = MetadataStore.open("memory://b", MetadataContext.of(cluster));
                MetadataStore elsewhere = MetadataStore.open("memory://a", MetadataContext.of("other"))) {
            here.put("k", new byte[0], Deadline.ofMillis(1000));
            assertThat(there.list("")).isEmpty();
            assertThat(elsewhere.list("")).isEmpty();
        }
    }

    @Test
    void open_unknownScheme_namesWhatWasFound() {
        assertThatExceptionOfType(MooncakeException.class)
                .isThrownBy(() -> MetadataStore.open("nothing://u:secret@h:1", MetadataContext.of(cluster)))
                .withMessageContaining("nothing://u@h:1")
                .withMessageContaining("MemoryStoreProvider (rank 0): serves memory")
                .withMessageNotContaining("secret");
    }
}
