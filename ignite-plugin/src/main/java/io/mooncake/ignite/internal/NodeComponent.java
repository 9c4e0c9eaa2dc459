// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import org.apache.ignite.configuration.IgniteConfiguration;

/**
 * A part of the plugin with the node's life. Called in the order of the list for the first three steps and backwards for the last, each
 * once, on Ignite's starting or stopping thread. A refused or failed node gets {@link #onIgniteStop} without the steps before it, so it
 * must work after any of them.
 */
public interface NodeComponent {
    /** The configuration passed validation; caches, services, data regions and life-cycle beans may be added. No engine, no node id yet. */
    default void initExtensions(NodeServices services, IgniteConfiguration config) {}

    /** Ignite's managers and the engine run, pools are up, the node has not joined: register views, metrics, request handlers. */
    default void start(NodeServices services) {}

    /** The node joined; caches may not be usable (cluster inactive). Must return quickly: work in the background. */
    default void onIgniteStart(NodeServices services) {}

    /** The node stops. Idempotent. */
    default void onIgniteStop() {}
}
