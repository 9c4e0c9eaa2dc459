// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

/** The two values that stand for no value. */
enum Nothing {
    /** {@code none}. */
    NONE,
    /** A variable, attribute or item that is not there. */
    UNDEFINED
}
