// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

/** What a port is for; part of the handshake, so that a connection cannot be led to another port. */
public enum Plane {
    DATA(1),
    CONTROL(2),
    EVENT(3);

    private final int code;

    Plane(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
