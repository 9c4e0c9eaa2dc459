// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TorchEngineTest {
    private static final List<String> X86 = List.of(
            "vendor_id\t: GenuineIntel",
            "cpu family\t: 6",
            "model\t\t: 106",
            "flags\t\t: fpu avx fma avx2 avx512f avx512dq avx512bw avx512vl");

    @Test
    void processor_ofBothArchitectures_tellsKindsApart() {
        assertThat(TorchEngine.processor(X86, Map.of())).isEqualTo("avx512/GenuineIntel-6-106");
        assertThat(TorchEngine.processor(
                        List.of("CPU implementer\t: 0x41", "CPU architecture: 8", "CPU part\t: 0xd0c"), Map.of()))
                .isEqualTo("default/0x41-8-0xd0c");
        assertThat(TorchEngine.processor(List.of(), Map.of()))
                .startsWith("default/")
                .endsWith("-0-0");
    }

    @Test
    void processor_kernelsForcedByTheEnvironment_isAnother() {
        assertThat(TorchEngine.processor(X86, Map.of("ATEN_CPU_CAPABILITY", "AVX2", "PATH", "/bin")))
                .isEqualTo("avx2/GenuineIntel-6-106");
        assertThat(TorchEngine.processor(X86, Map.of("MKL_CBWR", "AVX2", "ONEDNN_MAX_CPU_ISA", "AVX2")))
                .isEqualTo("avx512/GenuineIntel-6-106/MKL_CBWR=AVX2/ONEDNN_MAX_CPU_ISA=AVX2");
    }
}
