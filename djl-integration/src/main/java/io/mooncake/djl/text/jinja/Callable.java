// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.List;
import java.util.Map;

/** A function, a macro or a bound method. */
interface Callable {
    Object call(Scope scope, List<Object> arguments, Map<String, Object> named);
}
