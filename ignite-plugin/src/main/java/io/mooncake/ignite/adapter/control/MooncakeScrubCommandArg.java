// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.Argument;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.jspecify.annotations.Nullable;

/** Arguments of {@code --mooncake scrub}. Ignite fills it by its setters and carries it to the nodes. */
public final class MooncakeScrubCommandArg extends IgniteDataTransferObject {
    private static final long serialVersionUID = 0;

    @Argument(description = "Pool whose blocks are checked. All pools if not set", optional = true, example = "name")
    private @Nullable String pool;

    /** The pool; null: all. */
    public @Nullable String pool() {
        return pool;
    }

    public void pool(@Nullable String pool) {
        this.pool = pool;
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeString(out, pool);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        pool = U.readString(in);
    }
}
