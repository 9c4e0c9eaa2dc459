// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import java.util.List;

/**
 * Where a tensor lies in its file.
 *
 * @param name as in the file, for example {@code blk.0.attn_q.weight}
 * @param type how its elements are stored
 * @param dims one to four lengths in elements, the fastest running one first: a linear layer's weight is [inputs, outputs], which
 *     is the row-major matrix outputs x inputs
 * @param fileOffset first byte, counted from the start of the file
 */
public record GgufTensor(String name, GgmlType type, List<Long> dims, long fileOffset) {
    public GgufTensor {
        dims = List.copyOf(dims);
    }

    /** Number of elements. */
    public long elements() {
        long product = 1;
        for (long dim : dims) {
            product = Math.multiplyExact(product, dim);
        }
        return product;
    }

    /** Number of bytes in the file. */
    public long bytes() {
        return type.bytes(elements());
    }
}
