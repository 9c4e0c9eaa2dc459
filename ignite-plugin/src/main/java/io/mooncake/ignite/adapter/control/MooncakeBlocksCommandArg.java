// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.Argument;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.jspecify.annotations.Nullable;

/** Arguments of {@code --mooncake blocks}. Ignite fills it by its setters and carries it to the nodes. */
public final class MooncakeBlocksCommandArg extends IgniteDataTransferObject {
    static final int DEFAULT_LIMIT = 100;
    static final int MAX_LIMIT = 100_000;
    private static final long serialVersionUID = 0;

    @Argument(description = "Pool whose blocks are printed. All pools if not set", optional = true, example = "name")
    private @Nullable String pool;

    @Argument(description = "Most blocks of a node that are printed. 100 if not set", optional = true, example = "N")
    private int limit = DEFAULT_LIMIT;

    /** The pool; null: all. */
    public @Nullable String pool() {
        return pool;
    }

    public void pool(@Nullable String pool) {
        this.pool = pool;
    }

    /** Most blocks of a node. */
    public int limit() {
        return limit;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void limit(int limit) {
        if (limit < 1 || limit > MAX_LIMIT) {
            throw new IllegalArgumentException("--limit: " + limit + " (expected: 1.." + MAX_LIMIT + ")");
        }
        this.limit = limit;
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeString(out, pool);
        out.writeInt(limit);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        pool = U.readString(in);
        limit = in.readInt();
    }
}
