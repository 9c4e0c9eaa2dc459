// SPDX-License-Identifier: Apache-2.0
/**
 * The bridge between cache blocks and tensors: strided copies in both directions, and a predictor that reuses cached prefixes for any DJL
 * causal language model. May touch the pool's interface and DJL; knows nothing of Ignite or of a particular model.
 */
@NullMarked
package io.mooncake.djl.cache;

import org.jspecify.annotations.NullMarked;
