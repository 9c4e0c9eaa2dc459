// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;

/** A verbs call that the driver refused. */
public final class VerbsException extends MooncakeException {
    private static final long serialVersionUID = 1L;
    private static final int ENOMEM = 12;
    private static final int EAGAIN = 11;

    private final int errno;

    VerbsException(String call, int errno) {
        super(code(errno), call + ": errno " + errno + hint(errno));
        this.errno = errno;
    }

    /** The error number of the operating system. */
    public int errno() {
        return errno;
    }

    private static Code code(int errno) {
        return errno == ENOMEM || errno == EAGAIN ? Code.EXHAUSTED : Code.INTERNAL;
    }

    private static String hint(int errno) {
        return switch (errno) {
            case 1, 13 -> " (not permitted: access to /dev/infiniband)";
            case ENOMEM -> " (no memory, or more than ulimit -l allows to lock)";
            case EAGAIN -> " (would block)";
            case 14 -> " (the address range is not mapped)";
            case 19 -> " (no such device)";
            case 22 -> " (invalid value)";
            case 95 -> " (not supported by the device or its driver)";
            case 110 -> " (timed out: the peer's address was not resolved)";
            default -> "";
        };
    }
}
