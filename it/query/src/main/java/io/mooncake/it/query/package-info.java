// SPDX-License-Identifier: Apache-2.0
/** Tests of everything that can be asked of a cluster, for each SQL engine and for none. */
@NullMarked
package io.mooncake.it.query;

import org.jspecify.annotations.NullMarked;
