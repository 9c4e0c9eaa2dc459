// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.function.LongSupplier;

/** Time as the test sets it. */
final class ManualClock implements LongSupplier {
    volatile long nanos;

    @Override
    public long getAsLong() {
        return nanos;
    }
}
