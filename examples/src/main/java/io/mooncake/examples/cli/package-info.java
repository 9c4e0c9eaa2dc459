// SPDX-License-Identifier: Apache-2.0
/**
 * The command line: parsing, help, refusals and progress on a terminal. Commands live in their own rooms; nothing here knows Ignite or DJL.
 */
@NullMarked
package io.mooncake.examples.cli;

import org.jspecify.annotations.NullMarked;
