// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What is published stays so, in whatever order the service's answers and its events come. */
final class OwnRecordsTest {
    private final OwnRecords own = new OwnRecords(UUID.randomUUID());

    @Test
    void confirm_lossToldBefore_isPendingAgain() {
        own.put("k", new byte[] {1}, seen -> {});
        OwnRecords.Wish taken = own.pending(10).get(0);
        // Written, overwritten by a stranger, told of the stranger's, and only then does the writer hear of its own.
        own.lost("k");
        own.confirm(taken);

        assertThat(own.pending(10)).containsExactly(taken);
        own.confirm(taken);
        assertThat(own.pending(10)).isEmpty();
        assertThat(own.await(taken, Deadline.ofMillis(1))).isTrue();
    }

    @Test
    void confirm_everythingLostBefore_isPendingAgain() {
        own.put("k", new byte[] {1}, seen -> {});
        OwnRecords.Wish taken = own.pending(10).get(0);
        own.lost();
        own.confirm(taken);

        assertThat(own.unpublished()).isEqualTo(1);
    }

    @Test
    void confirm_removalWhoseEventCameFirst_isDoneAgainOnce() {
        own.confirm(own.put("k", new byte[] {1}, seen -> {}));
        own.remove("k", gone -> {});
        OwnRecords.Wish removal = own.pending(10).get(0);
        own.lost("k");
        own.confirm(removal);

        own.confirm(own.pending(10).get(0));
        assertThat(own.pending(10)).isEmpty();
        assertThat(own.unpublished()).isZero();
    }

    @Test
    void confirm_lossBeforeTheWishWasTaken_counts() {
        own.confirm(own.put("k", new byte[] {1}, seen -> {}));
        own.lost("k");
        own.confirm(own.pending(10).get(0));

        assertThat(own.pending(10)).isEmpty();
    }
}
