// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

/** A template that cannot be parsed or rendered; the message says where and why. The caller adds which model it belongs to. */
public final class JinjaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean raisedByTemplate;

    JinjaException(String message, boolean raisedByTemplate) {
        super(message);
        this.raisedByTemplate = raisedByTemplate;
    }

    JinjaException(String message) {
        this(message, false);
    }

    /** Whether the template itself refused its input by raise_exception. */
    public boolean raisedByTemplate() {
        return raisedByTemplate;
    }
}
