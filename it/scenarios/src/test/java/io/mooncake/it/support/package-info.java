// SPDX-License-Identifier: Apache-2.0
/** What several scenarios share: clusters of real processes and the jobs they run. */
@org.jspecify.annotations.NullMarked
package io.mooncake.it.support;
