// SPDX-License-Identifier: Apache-2.0
/**
 * Memory of GPUs: how it is registered, and the pinned buffers that its bytes pass through where no network card reaches it. Lanes,
 * passages and stagings are data plane: they copy, and allocate nothing but what an access or a batch takes; the rest is control plane.
 */
@NullMarked
package io.mooncake.transfer.gpu;

import org.jspecify.annotations.NullMarked;
