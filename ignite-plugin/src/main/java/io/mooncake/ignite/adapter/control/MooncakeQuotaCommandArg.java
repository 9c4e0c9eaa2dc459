// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.Argument;
import org.apache.ignite.internal.util.typedef.internal.U;

/** Arguments of {@code --mooncake quota}. Ignite fills it by its setters and carries it to the node. */
public final class MooncakeQuotaCommandArg extends IgniteDataTransferObject {
    private static final long serialVersionUID = 0;

    @Argument(description = "Name of the tenant. All quotas are listed if not set", optional = true, example = "name")
    private String tenant = "";

    @Argument(description = "Most bytes of memory on each node", optional = true, example = "N")
    private long dramBytes = Long.MAX_VALUE;

    @Argument(description = "Most bytes of SSD on each node", optional = true, example = "N")
    private long ssdBytes = Long.MAX_VALUE;

    @Argument(description = "Take the tenant's quota away", optional = true)
    private boolean unlimited;

    /** The tenant; empty: none is named. */
    public String tenant() {
        return tenant;
    }

    public void tenant(String tenant) {
        this.tenant = tenant;
    }

    /** Most bytes of memory. */
    public long dramBytes() {
        return dramBytes;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void dramBytes(long dramBytes) {
        this.dramBytes = require("--dram-bytes", dramBytes);
    }

    /** Most bytes of SSD. */
    public long ssdBytes() {
        return ssdBytes;
    }

    /** @throws IllegalArgumentException naming the value and its range */
    public void ssdBytes(long ssdBytes) {
        this.ssdBytes = require("--ssd-bytes", ssdBytes);
    }

    private static long require(String name, long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(name + ": " + bytes + " (expected: at least 0)");
        }
        return bytes;
    }

    /** Whether the quota is taken away. */
    public boolean unlimited() {
        return unlimited;
    }

    public void unlimited(boolean unlimited) {
        this.unlimited = unlimited;
    }

    /** Whether something is to be changed. */
    boolean changes() {
        return unlimited || dramBytes != Long.MAX_VALUE || ssdBytes != Long.MAX_VALUE;
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeString(out, tenant);
        out.writeLong(dramBytes);
        out.writeLong(ssdBytes);
        out.writeBoolean(unlimited);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        tenant = U.readString(in);
        dramBytes = in.readLong();
        ssdBytes = in.readLong();
        unlimited = in.readBoolean();
    }
}
