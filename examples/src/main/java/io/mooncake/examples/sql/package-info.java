// SPDX-License-Identifier: Apache-2.0
/**
 * SQL over a running cluster by Ignite's JDBC thin driver. Touches JDBC only, no node of Ignite is started.
 */
@NullMarked
package io.mooncake.examples.sql;

import org.jspecify.annotations.NullMarked;
