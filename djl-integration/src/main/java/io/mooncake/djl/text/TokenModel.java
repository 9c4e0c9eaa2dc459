// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

/** Turns a stretch of ordinary text into ids. Safe for all threads. */
interface TokenModel {
    /** Appends the ids of {@code text}, which is not empty; {@code first} says whether it starts the input or follows a marker. */
    void encode(String text, boolean first, IntList out);
}
