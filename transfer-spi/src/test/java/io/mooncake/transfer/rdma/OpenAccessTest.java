// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Open;
import org.junit.jupiter.api.Test;

final class OpenAccessTest {
    private final OpenAccess.OfPeer ofPeer = new OpenAccess.OfPeer();

    private OpenAccess access(int requests) {
        return new OpenAccess(
                new Open(1, false, new long[] {1}, new RemoteHandle[requests], new long[requests]), ofPeer);
    }

    @Test
    void admit_asManyAccessesAsAPeerMayHave_refusesTheNextUntilOneEnds() {
        OpenAccess first = access(1);
        assertThat(first.admit(2, 100)).isTrue();
        assertThat(access(1).admit(2, 100)).isTrue();
        assertThat(access(1).admit(2, 100)).isFalse();
        assertThat(access(1).admit(2, 100)).isFalse();
        first.release();
        assertThat(access(1).admit(2, 100)).isTrue();
    }

    @Test
    void admit_asManyRequestsAsAPeerMayHave_refusesTheNextUntilSomeEnd() {
        OpenAccess first = access(60);
        assertThat(first.admit(9, 100)).isTrue();
        assertThat(access(41).admit(9, 100)).isFalse();
        assertThat(access(40).admit(9, 100)).isTrue();
        first.release();
        assertThat(access(60).admit(9, 100)).isTrue();
    }
}
