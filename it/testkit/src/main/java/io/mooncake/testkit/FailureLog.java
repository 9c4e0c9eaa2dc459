// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ignite.Ignite;
import org.apache.ignite.failure.AbstractFailureHandler;
import org.apache.ignite.failure.FailureContext;
import org.jspecify.annotations.Nullable;

/**
 * Remembers critical failures in place of Ignite's own handler, which would halt the test's process. What Ignite only warns of, such as a
 * thread that stood still on a busy machine, is none.
 */
final class FailureLog extends AbstractFailureHandler {
    private final Set<String> expected = ConcurrentHashMap.newKeySet();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();

    /** The node called {@code name} is about to be killed. */
    void expect(String name) {
        expected.add(name);
    }

    /** The first failure of a node that was not killed; null when there is none. */
    @Nullable
    String first() {
        return failures.peek();
    }

    @Override
    protected boolean handle(Ignite ignite, FailureContext context) {
        if (!expected.contains(ignite.name())) {
            failures.add("critical failure of node " + ignite.name() + ": " + context);
        }
        return true;
    }
}
