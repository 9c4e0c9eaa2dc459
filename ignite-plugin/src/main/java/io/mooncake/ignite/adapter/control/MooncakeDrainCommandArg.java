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

/** Arguments of {@code --mooncake drain}. Ignite fills it by its setters and carries it to the node. */
public final class MooncakeDrainCommandArg extends IgniteDataTransferObject {
    private static final long serialVersionUID = 0;

    @Argument(description = "Node that is to leave", example = "nodeId")
    private @Nullable UUID nodeId;

    @Argument(description = "Most time for it in ms. 60000 if not set", optional = true, example = "N")
    private long timeoutMillis = Timeouts.DEFAULT_MILLIS;

    @Argument(description = "Take a drain back: the node takes requests and copies again", optional = true)
    private boolean resume;

    /** The node. */
    public @Nullable UUID nodeId() {
        return nodeId;
    }

    public void nodeId(@Nullable UUID nodeId) {
        this.nodeId = nodeId;
    }

    /** Most time for it. */
    public long timeoutMillis() {
        return timeoutMillis;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void timeoutMillis(long timeoutMillis) {
        this.timeoutMillis = Timeouts.require(timeoutMillis);
    }

    /** Whether the drain is taken back. */
    public boolean resume() {
        return resume;
    }

    public void resume(boolean resume) {
        this.resume = resume;
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeUuid(out, nodeId);
        out.writeLong(timeoutMillis);
        out.writeBoolean(resume);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        nodeId = U.readUuid(in);
        timeoutMillis = in.readLong();
        resume = in.readBoolean();
    }
}
