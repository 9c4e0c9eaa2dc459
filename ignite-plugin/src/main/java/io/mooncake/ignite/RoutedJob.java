// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.io.Serializable;

/** What runs on the node that the conductor chose. Serialisable like any Ignite job; the result too. */
@FunctionalInterface
public interface RoutedJob<R> extends Serializable {
    R run(JobContext context) throws Exception;
}
