// SPDX-License-Identifier: Apache-2.0
/** Classes of somebody else. */
@NullMarked
package trap;

import org.jspecify.annotations.NullMarked;
