// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.examples.doctor.Finding.State;
import io.mooncake.natives.CudaGpu;
import io.mooncake.natives.DeviceProbe;
import io.mooncake.natives.HugePages;
import io.mooncake.natives.MachineMemory;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.NativeProbe;
import io.mooncake.transfer.gpu.GpuPath;
import io.mooncake.transfer.gpu.GpuProbe;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FindingsTest {
    @TempDir
    Path folder;

    @Test
    void bridge_leftOut_everyLineSaysWhy() {
        String reason = "cmake was not installed when this jar was built";
        DeviceProbe unknown = new DeviceProbe(List.of(), "", "native bridge: " + reason);
        NativeProbe probe = new NativeProbe(
                new NativeBridge.Unavailable(reason),
                unknown,
                unknown,
                OptionalLong.empty(),
                List.of(new HugePages(2 << 20, 0, 0)),
                OptionalLong.empty(),
                new MachineMemory(OptionalLong.empty(), OptionalLong.empty()));
        assertThat(MachineFindings.bridge(probe))
                .allSatisfy(finding -> assertThat(finding.state()).isEqualTo(State.ABSENT))
                .allSatisfy(finding -> assertThat(finding.text()).isNotBlank())
                .contains(Finding.absent("Native bridge", reason), Finding.absent("RDMA", "native bridge: " + reason));
    }

    @Test
    void bridge_devicesFound_areNamed() {
        NativeProbe probe = new NativeProbe(
                new NativeBridge.Available(1, "linux-x86_64"),
                new DeviceProbe(List.of("rxe0", "mlx5_0"), "libibverbs.so.1", ""),
                new DeviceProbe(List.of(), "CUDA driver 12.4", "cuInit: 100 (no CUDA-capable device is detected)"),
                OptionalLong.of(4096),
                List.of(new HugePages(2 << 20, 8, 3)),
                OptionalLong.of(NativeProbe.UNLIMITED),
                new MachineMemory(OptionalLong.empty(), OptionalLong.empty()));
        assertThat(MachineFindings.bridge(probe))
                .containsExactly(
                        Finding.present("Native bridge", "version 1 for linux-x86_64"),
                        Finding.present("RDMA", "libibverbs.so.1: rxe0, mlx5_0"),
                        Finding.absent("CUDA", "CUDA driver 12.4: cuInit: 100 (no CUDA-capable device is detected)"),
                        Finding.present("Page size", "4.0 KiB"),
                        Finding.present("Huge pages", "3 free of 8 of 2.0 MiB"),
                        Finding.present("Lockable memory", "unlimited"));
    }

    @Test
    void gpus_eachWay_isNamedWithTheReason() {
        CudaGpu gpu = new CudaGpu(0, "A GPU", "0000:41:00.0", 80L << 30, true, true, CudaGpu.RemoteWrites.ORDERED);
        GpuProbe.Way open = new GpuProbe.Way(GpuPath.DMA_BUF, List.of("mlx5_0", "mlx5_1"), List.of());
        GpuProbe.Way half = new GpuProbe.Way(GpuPath.DMA_BUF, List.of("mlx5_0"), List.of("mlx5_1: no"));
        GpuProbe.Way closed = new GpuProbe.Way(GpuPath.PEER_MEMORY, List.of(), List.of("no module"));
        GpuProbe.Way staged = new GpuProbe.Way(GpuPath.STAGED, List.of(), List.of());
        assertThat(GpuFindings.all(List.of(), one -> List.of())).isEmpty();
        assertThat(GpuFindings.all(List.of(gpu), one -> List.of(open, closed, staged)))
                .containsExactly(
                        Finding.present("GPU 0", "A GPU, 0000:41:00.0, 80.0 GiB"),
                        Finding.present("GPU 0 dma-buf", "reached by mlx5_0, mlx5_1; this way is taken"),
                        Finding.absent("GPU 0 peer memory", "no module"),
                        Finding.present("GPU 0 staging", "through pinned memory of the host"));
        assertThat(GpuFindings.all(List.of(gpu), one -> List.of(half, closed, staged)))
                .contains(
                        Finding.warning("GPU 0 dma-buf", "not by all devices: mlx5_0; mlx5_1: no"),
                        Finding.present("GPU 0 staging", "through pinned memory of the host; this way is taken"));
    }

    @Test
    void restModule_anyVersion_warnsBelowTheFix() throws Exception {
        assertThat(ProductFindings.restModule(null).state()).isEqualTo(State.PRESENT);
        assertThat(rest("2.17.0").state()).isEqualTo(State.WARNING);
        assertThat(rest("2.17.0").text()).contains("ignite-rest-http-2.17.0.jar", "CVE-2025-48977");
        assertThat(rest("2.9.1").state()).isEqualTo(State.WARNING);
        assertThat(rest("2.18.0").state()).isEqualTo(State.PRESENT);
        assertThat(rest("3.0.0").state()).isEqualTo(State.PRESENT);
        assertThat(ProductFindings.restModule(
                                URI.create("file:/classes/Rest.class").toURL())
                        .state())
                .isEqualTo(State.WARNING);
    }

    @Test
    void model_absentDamagedPresent_isTold() throws Exception {
        Path file = folder.resolve("model.gguf");
        assertThat(ProductFindings.model(file).state()).isEqualTo(State.ABSENT);
        Files.writeString(file, "GG");
        assertThat(ProductFindings.model(file).state()).isEqualTo(State.WARNING);
        Files.writeString(file, "GGUF and more");
        assertThat(ProductFindings.model(file)).isEqualTo(Finding.present("Model", file + ", 13 B"));
    }

    @Test
    void ports_oneTaken_isCounted() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("0.0.0.0"))) {
            int port = taken.getLocalPort();
            assertThat(ProductFindings.ports("Ports", port, port))
                    .isEqualTo(Finding.warning("Ports", port + ".." + port + ": 0 of 1 free"));
        }
    }

    @Test
    void tool_absent_saysWhatItIsFor() {
        assertThat(ToolFindings.tool("cmake", "without it no bridge", "no-such-program-here", "--version"))
                .isEqualTo(Finding.absent(
                        "cmake", "no-such-program-here --version does not answer; without it no bridge"));
        assertThat(ToolFindings.tool("bash", "for scripts", "bash", "--version").state())
                .isEqualTo(State.PRESENT);
    }

    private static Finding rest(String version) throws Exception {
        return ProductFindings.restModule(
                URI.create("file:/lib/ignite-rest-http-" + version + ".jar").toURL());
    }
}
