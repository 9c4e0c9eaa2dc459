// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * What came of a job. A job's own exception travels as a value, so that it reaches the caller with its type and is never taken for a
 * failure of Ignite.
 *
 * @param value the result; null is a result too
 * @param failure the job's exception, or null when it returned
 */
record RoutedOutcome(@Nullable Object value, @Nullable Throwable failure) implements Serializable {
    static RoutedOutcome of(@Nullable Object value) {
        return new RoutedOutcome(value, null);
    }

    static RoutedOutcome failed(Throwable failure) {
        return new RoutedOutcome(null, failure);
    }
}
