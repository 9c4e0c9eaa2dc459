// SPDX-License-Identifier: Apache-2.0
/** Whose blocks a caller sees, and who may see the operator's figures. Control plane. */
@NullMarked
package io.mooncake.ignite.tenant;

import org.jspecify.annotations.NullMarked;
