// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import org.jspecify.annotations.Nullable;

/**
 * Bad input, explained to a person: the message is one paragraph that names value, place and what was expected. Commands that throw it end
 * with exit code 1 and the message on standard error, without a stack trace.
 */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public Refusal(String message) {
        super(message);
    }

    public Refusal(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
