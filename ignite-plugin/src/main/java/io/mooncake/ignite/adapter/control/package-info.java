// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of Ignite's control script: {@code control.sh --mooncake ...}. The script finds them where this jar is on its class path; the tasks
 * run on nodes with the plugin. Control plane; Ignite's internals.
 */
@NullMarked
package io.mooncake.ignite.adapter.control;

import org.jspecify.annotations.NullMarked;
