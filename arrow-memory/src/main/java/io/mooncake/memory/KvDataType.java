// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** Element types of keys and values in blocks. Codes are part of the stored and wire formats and never change. */
public enum KvDataType {
    F32(1, 4),
    F16(2, 2),
    BF16(3, 2);

    private final int code;
    private final int bytes;

    KvDataType(int code, int bytes) {
        this.code = code;
        this.bytes = bytes;
    }

    /** The stable code in stored and wire formats. */
    public int code() {
        return code;
    }

    /** Bytes an element. */
    public int bytes() {
        return bytes;
    }
}
