// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.util.Locale;

/**
 * What a figure must reach.
 *
 * @param atMost whether the limit is an upper one
 * @param limit the limit, in the figure's own unit
 */
public record Target(boolean atMost, double limit) {
    /** At most {@code limit}. */
    public static Target atMost(double limit) {
        return new Target(true, limit);
    }

    /** At least {@code limit}. */
    public static Target atLeast(double limit) {
        return new Target(false, limit);
    }

    /** Whether {@code figure} reaches it; not a number never does. */
    public boolean met(double figure) {
        return atMost ? figure <= limit : figure >= limit;
    }

    @Override
    public String toString() {
        String number = String.format(Locale.ROOT, "%.4f", limit).replaceAll("\\.?0+$", "");
        return (atMost ? "<= " : ">= ") + number;
    }
}
