// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.mooncake.natives.FakeCuda;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** The contract with memory of fake GPUs at one end or both. None of it has run on a GPU. */
abstract class GpuContract extends TransferContract {
    /** GPU of the next memory that is asked for, the owner's first; below 0 it is the host's. */
    private int asked;

    abstract int ownerGpu();

    abstract int readerGpu();

    @BeforeAll
    static void install() {
        assumeThat(FakeCuda.available())
                .as("native bridge and fake CUDA driver")
                .isTrue();
        FakeCuda.install();
    }

    @AfterAll
    static void uninstall() {
        FakeCuda.uninstall();
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @BeforeEach
    @Override
    void startEngines() {
        FakeCuda.configure(2, true);
        asked = 0;
        super.startEngines();
    }

    @Override
    Memory memory(int length) {
        int gpu = asked++ == 0 ? ownerGpu() : readerGpu();
        return gpu < 0 ? new Memory(length) : new GpuTestMemory(length, gpu);
    }

    @AfterEach
    @Override
    void stopEngines() {
        FakeCuda.heal();
        super.stopEngines();
        assertThat(FakeCuda.held()).isEqualTo(FakeCuda.Held.NOTHING);
    }
}
