// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.util.Locale;

/** What decides the bytes of this decoder's KV, written down. */
public final class LlamaIdentity {
    /** Raised with every change of {@link LlamaLayerMath} or of the weights' order that changes bits. */
    private static final int ARITHMETIC_VERSION = 1;

    private LlamaIdentity() {}

    /**
     * The identity of a model's pool.
     *
     * <p>In exact mode it includes the thread count and the processor's kernels: KV fetched from a node that differs in them would be as
     * right as one's own, but not equal in bits, and exact mode promises bits across the cluster.
     *
     * @param modelDigest SHA-256 of the file in hex
     * @param tokenizerDigest SHA-256 of the vocabulary in hex
     */
    public static KvIdentity of(
            LlamaConfig config, String modelDigest, String tokenizerDigest, ReuseMode mode, int blockTokens) {
        return new KvIdentity(
                modelDigest,
                tokenizerDigest,
                "",
                engineLayout(mode),
                rope(config),
                mode,
                KvDataType.F32,
                config.layers(),
                config.kvHeads(),
                config.headSize(),
                blockTokens,
                1,
                0);
    }

    /** For example {@code djl-pytorch-2.7.1/llama-1/t1/avx512/AuthenticAMD-25-17}, without threads and processor in fast mode. */
    static String engineLayout(ReuseMode mode) {
        String engine = "djl-pytorch-" + TorchEngine.version() + "/llama-" + ARITHMETIC_VERSION;
        return mode == ReuseMode.EXACT ? engine + "/t" + TorchEngine.threads() + "/" + TorchEngine.processor() : engine;
    }

    private static String rope(LlamaConfig config) {
        return String.format(
                Locale.ROOT,
                "rope(base=%s,dims=%d,scale=%s,style=halves)",
                config.ropeBase(),
                config.ropeDims(),
                config.ropeScale());
    }
}
