// SPDX-License-Identifier: Apache-2.0
/**
 * Where copies of blocks are: how many there should be, which node takes one, what happens when a node is to leave or comes empty. Every copy is pulled by
 * who gets it, through the same fetch that serves prompts; an offer only says that there is something to pull.
 *
 * <p>May touch: members, index, local pools, the engine's messages. Not: Ignite's caches.
 */
@NullMarked
package io.mooncake.ignite.place;

import org.jspecify.annotations.NullMarked;
