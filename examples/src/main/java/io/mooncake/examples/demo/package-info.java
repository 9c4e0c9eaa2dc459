// SPDX-License-Identifier: Apache-2.0
/**
 * The demo: a bicycle rental's chat on three nodes, every answer given twice (with and without the cache) and compared to the bit. Drives a
 * cluster as a user would: a thick client, routes and jobs, SQL by JDBC.
 */
@NullMarked
package io.mooncake.examples.demo;

import org.jspecify.annotations.NullMarked;
