// SPDX-License-Identifier: Apache-2.0
/**
 * One Ignite node from Spring XML: reading the file, refusing a wrong one in words, starting, and stopping cleanly. May touch Spring and
 * Ignite; knows neither models nor the demo.
 */
@NullMarked
package io.mooncake.examples.node;

import org.jspecify.annotations.NullMarked;
