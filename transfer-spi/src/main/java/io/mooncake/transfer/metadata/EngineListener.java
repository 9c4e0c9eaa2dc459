// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import java.util.List;

/** Hears which engines come and go. Called on the store's event thread: must not block. */
public interface EngineListener {
    /** An engine is there that was not. */
    default void added(EngineRecord engine) {}

    /** An engine's attributes changed. */
    default void replaced(EngineRecord before, EngineRecord now) {}

    /** An engine is gone. */
    default void removed(EngineRecord engine) {}

    /** The store listed everything anew; the calls before told the difference. */
    default void resynced(List<EngineRecord> all) {}
}
