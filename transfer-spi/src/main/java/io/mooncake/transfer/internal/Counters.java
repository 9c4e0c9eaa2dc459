// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.TransferStatistics;
import java.util.concurrent.atomic.LongAdder;

/** What an engine counts. Safe for all threads. */
public final class Counters {
    public final LongAdder bytesRead = new LongAdder();
    public final LongAdder bytesWritten = new LongAdder();
    public final LongAdder bytesServed = new LongAdder();
    public final LongAdder bytesReceived = new LongAdder();
    public final LongAdder requestsServed = new LongAdder();
    public final LongAdder requestsRefused = new LongAdder();
    public final LongAdder leasesGranted = new LongAdder();
    public final LongAdder leasesEnded = new LongAdder();
    public final LongAdder authenticationFailures = new LongAdder();

    /** A snapshot. */
    public TransferStatistics snapshot() {
        long ended = leasesEnded.sum();
        long granted = leasesGranted.sum();
        return new TransferStatistics(
                bytesRead.sum(),
                bytesWritten.sum(),
                bytesServed.sum(),
                bytesReceived.sum(),
                requestsServed.sum(),
                requestsRefused.sum(),
                granted,
                granted - ended,
                authenticationFailures.sum());
    }
}
