// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

/** A parsed expression. */
interface Expression {
    Object eval(Scope scope);
}
