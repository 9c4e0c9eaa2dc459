// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

/** A call of etcd that did not succeed; stays within this package. */
final class EtcdFailure extends Exception {
    private static final long serialVersionUID = 1L;

    /** What is to be done about it. */
    enum Kind {
        /** No answer, or none that helps: try again later. */
        UNAVAILABLE,
        /** The lease is gone: take another, publish everything again. */
        LEASE_LOST,
        /** The token is no longer valid, or the credentials never were: authenticate again. */
        UNAUTHENTICATED
    }

    private final Kind kind;

    EtcdFailure(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    Kind kind() {
        return kind;
    }
}
