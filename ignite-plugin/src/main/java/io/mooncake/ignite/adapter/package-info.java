// SPDX-License-Identifier: Apache-2.0
/**
 * The one place that imports {@code org.apache.ignite.internal}: node attributes, discovery events, metrics, system views. A new Ignite
 * version changes this package only. Control plane.
 */
@NullMarked
package io.mooncake.ignite.adapter;

import org.jspecify.annotations.NullMarked;
