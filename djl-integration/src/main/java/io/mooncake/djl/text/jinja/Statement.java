// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.List;

/** A parsed piece of a template. */
interface Statement {
    /** How a statement ended: {@code BREAK} and {@code CONTINUE} travel up to the loop. */
    enum Flow {
        NEXT,
        BREAK,
        CONTINUE
    }

    Flow run(Scope scope);

    /** All of them in order, until one leaves the loop. */
    static Flow runAll(List<Statement> statements, Scope scope) {
        for (Statement statement : statements) {
            scope.step();
            Flow flow = statement.run(scope);
            if (flow != Flow.NEXT) {
                return flow;
            }
        }
        return Flow.NEXT;
    }
}
