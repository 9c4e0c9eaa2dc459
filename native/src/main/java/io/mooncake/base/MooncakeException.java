// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import org.jspecify.annotations.Nullable;

/**
 * The one unchecked root of every error this product throws. Expected outcomes (a miss, a full pool, a rejected request) are return
 * values, never this.
 *
 * <p>The message names the place, the value found and what was expected, for example {@code blockTokens: 0 (expected: 1..4096)}.
 */
public class MooncakeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Stable categories; callers branch on these, never on message text. */
    public enum Code {
        /** An argument or an option is outside of what is allowed. */
        INVALID_ARGUMENT(false),
        /** The object was closed, or the call does not fit its state. */
        ILLEGAL_STATE(false),
        /** A configuration that must not start. */
        CONFIGURATION(false),
        /** A model file or its metadata is refused. */
        MODEL_REFUSED(false),
        /** Memory, disk or another bounded resource is used up for now. */
        EXHAUSTED(true),
        /** The deadline passed before the work was done. */
        DEADLINE_EXCEEDED(true),
        /** The peer cannot be reached or went away. */
        PEER_UNREACHABLE(true),
        /** The peer answered and refused: credential, protocol range, right. */
        PEER_REFUSED(false),
        /** The caller is not known, or may not do this. */
        DENIED(false),
        /** The handle is of an older generation or incarnation. */
        STALE(true),
        /** Bytes failed their checksum or identity check. */
        CORRUPT(true),
        /** A node, pool, model or file of that name does not exist. */
        NOT_FOUND(false),
        /** A defect of ours. */
        INTERNAL(false);

        private final boolean retryable;

        Code(boolean retryable) {
            this.retryable = retryable;
        }

        /** Whether the same call may succeed later without a change by the caller. */
        public boolean retryable() {
            return retryable;
        }
    }

    private final Code code;

    public MooncakeException(Code code, String message) {
        super(message);
        this.code = code;
    }

    public MooncakeException(Code code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The stable category. */
    public final Code code() {
        return code;
    }

    /** Whether the same call may succeed later without a change by the caller. */
    public final boolean retryable() {
        return code.retryable();
    }

    /** {@code name: value (expected: expected)} as {@link Code#INVALID_ARGUMENT}. */
    public static MooncakeException invalid(String name, @Nullable Object value, String expected) {
        return new MooncakeException(Code.INVALID_ARGUMENT, name + ": " + value + " (expected: " + expected + ")");
    }
}
