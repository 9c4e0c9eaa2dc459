// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.TransferStatistics;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What an engine counts. Safe for all threads. */
public final class Counters {
    public final LongAdder readLocal = new LongAdder();
    public final LongAdder readShm = new LongAdder();
    public final LongAdder readRdma = new LongAdder();
    public final LongAdder readTcp = new LongAdder();
    public final LongAdder writtenLocal = new LongAdder();
    public final LongAdder writtenShm = new LongAdder();
    public final LongAdder writtenRdma = new LongAdder();
    public final LongAdder writtenTcp = new LongAdder();
    public final LongAdder bytesServed = new LongAdder();
    public final LongAdder bytesReceived = new LongAdder();
    public final LongAdder requestsServed = new LongAdder();
    public final LongAdder requestsRefused = new LongAdder();
    public final LongAdder leasesGranted = new LongAdder();
    public final LongAdder leasesEnded = new LongAdder();
    public final LongAdder authenticationFailures = new LongAdder();

    private final LongAdder[] refusals = new LongAdder[RefusalCause.values().length];

    public Counters() {
        Arrays.setAll(refusals, i -> new LongAdder());
    }

    /** Counts a request of the data plane that was refused. */
    public void refused(RefusalCause cause) {
        requestsRefused.increment();
        refusals[cause.ordinal()].increment();
    }

    /** Refused requests by cause; every cause is there. */
    public Map<RefusalCause, Long> refusals() {
        Map<RefusalCause, Long> counts = new EnumMap<>(RefusalCause.class);
        for (RefusalCause cause : RefusalCause.values()) {
            counts.put(cause, refusals[cause.ordinal()].sum());
        }
        return counts;
    }

    /** A snapshot. */
    public TransferStatistics snapshot() {
        long ended = leasesEnded.sum();
        long granted = leasesGranted.sum();
        return new TransferStatistics(
                readLocal.sum(),
                readShm.sum(),
                readRdma.sum(),
                readTcp.sum(),
                writtenLocal.sum(),
                writtenShm.sum(),
                writtenRdma.sum(),
                writtenTcp.sum(),
                bytesServed.sum(),
                bytesReceived.sum(),
                requestsServed.sum(),
                requestsRefused.sum(),
                granted,
                granted - ended,
                authenticationFailures.sum());
    }
}
