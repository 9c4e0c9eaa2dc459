// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;

/** Arrow buffers over memory that somebody else owns: nothing is copied, retaining and releasing them does nothing. */
final class ArrowViews {
    private ArrowViews() {}

    static ArrowBuf of(long address, int bytes) {
        return new ArrowBuf(ReferenceManager.NO_OP, null, bytes, address);
    }
}
