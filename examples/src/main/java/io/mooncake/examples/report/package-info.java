// SPDX-License-Identifier: Apache-2.0
/**
 * How results are written down: the JSON convention of every benchmark and of the demo, the machine they ran on, plots and the HTML page.
 * Plain data in, text out; nothing here starts or measures anything.
 */
@NullMarked
package io.mooncake.examples.report;

import org.jspecify.annotations.NullMarked;
