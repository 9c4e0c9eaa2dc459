// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import org.jspecify.annotations.Nullable;

/**
 * The SSD of a node as a Spring bean, for property {@code ssd} of {@link MooncakePluginProvider}: blocks that memory has no room for are kept
 * there, and found again after a restart.
 *
 * <pre>{@code
 * <property name="ssd"><bean class="io.mooncake.ignite.SsdTier">
 *   <property name="path" value="/mnt/nvme/kv"/>
 *   <property name="capacity" value="100GiB"/>
 * </bean></property>
 * }</pre>
 */
public final class SsdTier {
    private @Nullable String path;
    private @Nullable String capacity;

    /** An existing directory that this process may write to and no other node uses; a relative path is below Ignite's work directory. */
    public SsdTier setPath(@Nullable String path) {
        this.path = path;
        return this;
    }

    /** Most bytes of blocks there, for example {@code 100GiB}, shared evenly by the node's pools. */
    public SsdTier setCapacity(@Nullable String capacity) {
        this.capacity = capacity;
        return this;
    }

    /** As set; null when not. */
    public @Nullable String getPath() {
        return path;
    }

    /** As set; null when not. */
    public @Nullable String getCapacity() {
        return capacity;
    }
}
