// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/** Where its owner has a block. The codes are part of the wire format and of the index, two bits. */
public enum BlockPlace {
    /** In memory: a lease is granted at once. */
    MEMORY(0),
    /** On the SSD alone: a lease waits until it is brought up. */
    SSD(1),
    /** In memory, and on the SSD when memory loses it. */
    BOTH(2),
    /** Being written: it can't be leased yet, and it may never come. */
    FILLING(3);

    private static final BlockPlace[] BY_CODE = values();

    private final int code;

    BlockPlace(int code) {
        this.code = code;
    }

    /** The stable code, 0..3. */
    public int code() {
        return code;
    }

    /** @param code 0..3 */
    public static BlockPlace of(int code) {
        return BY_CODE[code];
    }
}
