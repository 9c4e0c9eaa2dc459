// SPDX-License-Identifier: Apache-2.0
/**
 * What all metadata stores share: the table of records with its listeners, the retry delays, the store of one process. For providers, which
 * may live in other modules; not for users. Control plane.
 */
@NullMarked
package io.mooncake.transfer.metadata.internal;

import org.jspecify.annotations.NullMarked;
