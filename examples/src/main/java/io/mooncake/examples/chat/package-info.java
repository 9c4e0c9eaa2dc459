// SPDX-License-Identifier: Apache-2.0
/**
 * A chat request as an Ignite job: answered with the cache, answered again without it, compared to the bit. Runs on the node that the
 * conductor chose; only its answer travels back.
 */
@NullMarked
package io.mooncake.examples.chat;

import org.jspecify.annotations.NullMarked;
