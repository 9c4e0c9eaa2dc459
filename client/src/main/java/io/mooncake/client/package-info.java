// SPDX-License-Identifier: Apache-2.0
/** What clients of a cluster need of the product, in a jar that stands on the JDK alone. */
@NullMarked
package io.mooncake.client;

import org.jspecify.annotations.NullMarked;
