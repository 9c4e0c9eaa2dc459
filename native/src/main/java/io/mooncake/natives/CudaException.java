// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;

/** A call that the CUDA driver refused; the message carries the driver's name of the error. */
public final class CudaException extends MooncakeException {
    private static final long serialVersionUID = 1L;
    private static final int INVALID_VALUE = 1;
    private static final int OUT_OF_MEMORY = 2;
    private static final int NOT_SUPPORTED = 801;

    private final int error;

    CudaException(String call, int error, String name) {
        super(code(error), call + ": " + name + " (" + error + ")");
        this.error = error;
    }

    /** The driver's number, a {@code CUresult}. */
    public int error() {
        return error;
    }

    private static Code code(int error) {
        return switch (error) {
            case OUT_OF_MEMORY -> Code.EXHAUSTED;
            case INVALID_VALUE -> Code.INVALID_ARGUMENT;
            case NOT_SUPPORTED -> Code.CONFIGURATION;
            default -> Code.INTERNAL;
        };
    }
}
