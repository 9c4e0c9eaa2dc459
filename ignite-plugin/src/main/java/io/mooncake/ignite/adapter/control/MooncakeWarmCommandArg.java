// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.util.UUID;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.Argument;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.jspecify.annotations.Nullable;

/** Arguments of {@code --mooncake warm}. Ignite fills it by its setters and carries it to the node. */
public final class MooncakeWarmCommandArg extends IgniteDataTransferObject {
    private static final int DEFAULT_BLOCKS = 1_000;
    private static final long serialVersionUID = 0;

    @Argument(description = "Node that is to be filled", example = "nodeId")
    private @Nullable UUID nodeId;

    @Argument(description = "Name of the pool", example = "name")
    private String pool = "";

    @Argument(description = "Most blocks that it fetches. 1000 if not set", optional = true, example = "N")
    private int maxBlocks = DEFAULT_BLOCKS;

    @Argument(description = "Most time for it in ms. 60000 if not set", optional = true, example = "N")
    private long timeoutMillis = Timeouts.DEFAULT_MILLIS;

    /** The node. */
    public @Nullable UUID nodeId() {
        return nodeId;
    }

    public void nodeId(@Nullable UUID nodeId) {
        this.nodeId = nodeId;
    }

    /** The pool. */
    public String pool() {
        return pool;
    }

    public void pool(String pool) {
        this.pool = pool;
    }

    /** Most blocks that it fetches. */
    public int maxBlocks() {
        return maxBlocks;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void maxBlocks(int maxBlocks) {
        if (maxBlocks < 1) {
            throw new IllegalArgumentException("--max-blocks: " + maxBlocks + " (expected: at least 1)");
        }
        this.maxBlocks = maxBlocks;
    }

    /** Most time for it. */
    public long timeoutMillis() {
        return timeoutMillis;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void timeoutMillis(long timeoutMillis) {
        this.timeoutMillis = Timeouts.require(timeoutMillis);
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeUuid(out, nodeId);
        U.writeString(out, pool);
        out.writeInt(maxBlocks);
        out.writeLong(timeoutMillis);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        nodeId = U.readUuid(in);
        pool = U.readString(in);
        maxBlocks = in.readInt();
        timeoutMillis = in.readLong();
    }
}
