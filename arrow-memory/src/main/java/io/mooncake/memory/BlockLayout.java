// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;

/**
 * Where the numbers of a block lie. Layer outermost, then keys before values, then heads, tokens, elements:
 *
 * <pre>
 *   payload = layer[0] layer[1] ... layer[layers-1]
 *   layer   = keys values
 *   keys    = [kvHeads][blockTokens][headSize]      (values alike)
 * </pre>
 *
 * Elements are in native byte order of little-endian machines. All offsets are bytes from the start of the payload.
 *
 * @param layers attention layers
 * @param kvHeads heads a layer
 * @param blockTokens tokens a block
 * @param headSize elements a head
 * @param elementBytes bytes an element
 */
public record BlockLayout(int layers, int kvHeads, int blockTokens, int headSize, int elementBytes) {

    public BlockLayout {
        if (layers < 1 || kvHeads < 1 || blockTokens < 1 || headSize < 1 || elementBytes < 1) {
            throw MooncakeException.invalid(
                    "layout",
                    layers + "x" + kvHeads + "x" + blockTokens + "x" + headSize + "x" + elementBytes,
                    "every dimension at least 1");
        }
        long bytes = 2L * layers * kvHeads;
        bytes = Math.multiplyExact(Math.multiplyExact(bytes, blockTokens), (long) headSize * elementBytes);
        if (bytes > Integer.MAX_VALUE) {
            throw MooncakeException.invalid("block payload bytes", bytes, "at most " + Integer.MAX_VALUE);
        }
    }

    /** The layout of {@code identity}'s blocks. */
    public static BlockLayout of(KvIdentity identity) {
        return new BlockLayout(
                identity.layers(),
                identity.kvHeads(),
                identity.blockTokens(),
                identity.headSize(),
                identity.dataType().bytes());
    }

    /** Bytes of one head's keys (or values) in one layer: a run of {@code blockTokens x headSize} elements. */
    public int headBytes() {
        return blockTokens * headSize * elementBytes;
    }

    /** Bytes of the keys, or of the values, of one layer. */
    public int tensorBytes() {
        return kvHeads * headBytes();
    }

    /** Bytes of one layer, keys and values. */
    public int layerBytes() {
        return 2 * tensorBytes();
    }

    /** Bytes of a whole block's payload. */
    public int payloadBytes() {
        return layers * layerBytes();
    }

    /** Offset of the keys of {@code layer}. */
    public int keyOffset(int layer) {
        return layer * layerBytes();
    }

    /** Offset of the values of {@code layer}. */
    public int valueOffset(int layer) {
        return layer * layerBytes() + tensorBytes();
    }
}
