// SPDX-License-Identifier: Apache-2.0
/**
 * What a test of a Mooncake user needs: clusters of real Ignite nodes in the test's process with a tiny seeded model, and real processes
 * to start and kill. Depends on the product; nothing of the product depends on it.
 */
@NullMarked
package io.mooncake.testkit;

import org.jspecify.annotations.NullMarked;
