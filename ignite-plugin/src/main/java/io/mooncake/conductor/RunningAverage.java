// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

/** An exponentially weighted average; 0 until the first sample. Not thread-safe: its owner locks. */
final class RunningAverage {
    private final double smoothing;
    private double value;
    private boolean started;

    RunningAverage(double smoothing) {
        this.smoothing = smoothing;
    }

    void add(double sample) {
        value = started ? value + smoothing * (sample - value) : sample;
        started = true;
    }

    double value() {
        return value;
    }
}
