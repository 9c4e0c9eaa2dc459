// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** What a connection is for; part of the handshake, so that it cannot be led elsewhere. */
public enum Plane {
    DATA(1),
    CONTROL(2),
    EVENT(3),
    /** Work notices; they come to the port of {@link #CONTROL}. */
    WORK(4);

    private final int code;

    Plane(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    /** The one of {@code planes} with that code, or null. */
    static @Nullable Plane of(int code, Collection<Plane> planes) {
        for (Plane plane : planes) {
            if (plane.code == code) {
                return plane;
            }
        }
        return null;
    }
}
