// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.FakeCuda;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The contract from memory of one fake GPU to that of another. The class that extends it has {@link FakeGpus}. */
abstract class GpuContract extends TransferContract {
    /** GPU of the next memory that is asked for, the owner's first. */
    private int asked;

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @BeforeEach
    @Override
    void startEngines() {
        asked = 0;
        super.startEngines();
    }

    @Override
    Memory memory(int length) {
        return new GpuTestMemory(length, asked++ == 0 ? 0 : 1);
    }

    @AfterEach
    @Override
    void stopEngines() {
        FakeCuda.heal();
        super.stopEngines();
    }
}
