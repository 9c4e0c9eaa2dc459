// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.mooncake.memory.BlockLayout;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.RootAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class KvTensorsTest {
    private static final BlockLayout LAYOUT = new BlockLayout(2, 3, 4, 2, 4);

    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final RootAllocator allocator = new RootAllocator();

    @AfterEach
    void close() {
        manager.close();
        allocator.close();
    }

    /** Four arrays [1, 3, tokens, 2]; each element says array, head, token, element. */
    private NDList past(int tokens) {
        NDList past = new NDList();
        for (int array = 0; array < 4; array++) {
            float[] values = new float[3 * tokens * 2];
            for (int i = 0; i < values.length; i++) {
                values[i] = value(array, i / (tokens * 2), i / 2 % tokens, i % 2);
            }
            past.add(manager.create(values, new Shape(1, 3, tokens, 2)));
        }
        return past;
    }

    private static float value(int array, int head, int token, int element) {
        return 1000 * array + 100 * head + 10 * token + element;
    }

    @Test
    void writeBlock_ofALaterBlock_followsTheLayout() {
        KvTensors tensors = KvTensors.over(past(9), 2, 3, 2);
        try (ArrowBuf block = allocator.buffer(LAYOUT.payloadBytes())) {
            tensors.writeBlock(block, LAYOUT, 4, 4);
            for (int layer = 0; layer < 2; layer++) {
                for (int head = 0; head < 3; head++) {
                    for (int token = 0; token < 4; token++) {
                        int run = head * LAYOUT.headBytes() + token * 8;
                        assertThat(block.getFloat(LAYOUT.keyOffset(layer) + run))
                                .isEqualTo(value(2 * layer, head, 4 + token, 0));
                        assertThat(block.getFloat(LAYOUT.valueOffset(layer) + run + 4))
                                .isEqualTo(value(2 * layer + 1, head, 4 + token, 1));
                    }
                }
            }
        }
    }

    @Test
    void readBlock_ofAWrittenBlock_restoresThePart() {
        NDList source = past(8);
        NDList target = new NDList();
        for (int i = 0; i < 4; i++) {
            target.add(manager.zeros(new Shape(1, 3, 10, 2)));
        }
        try (ArrowBuf block = allocator.buffer(LAYOUT.payloadBytes())) {
            KvTensors.over(source, 2, 3, 2).writeBlock(block, LAYOUT, 4, 4);
            KvTensors.over(target, 2, 3, 2).readBlock(block, LAYOUT, 7, 3);
        }
        for (int array = 0; array < 4; array++) {
            for (int head = 0; head < 3; head++) {
                for (int token = 0; token < 10; token++) {
                    float expected = token < 7 ? 0 : value(array, head, 4 + token - 7, 1);
                    assertThat(target.get(array).getFloat(0, head, token, 1)).isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void writeBlock_ofAPart_zeroesTheRest() {
        try (ArrowBuf block = allocator.buffer(LAYOUT.payloadBytes())) {
            block.setOne(0, LAYOUT.payloadBytes());
            KvTensors.over(past(8), 2, 3, 2).writeBlock(block, LAYOUT, 0, 1);
            assertThat(block.getFloat(LAYOUT.keyOffset(1) + 4)).isEqualTo(value(2, 0, 0, 1));
            assertThat(block.getLong(LAYOUT.keyOffset(1) + 8)).isZero();
        }
    }

    @Test
    void over_badTensors_areRefusedByName() {
        NDList good = past(4);
        NDList half = past(4);
        half.set(3, half.get(3).toType(DataType.FLOAT16, true));
        assertThatThrownBy(() -> KvTensors.over(half, 2, 3, 2))
                .hasMessage("values of layer 1 element type: float16 (expected: FLOAT32)");
        NDList view = past(4);
        view.set(2, manager.zeros(new Shape(1, 4, 3, 2)).transpose(0, 2, 1, 3));
        assertThatThrownBy(() -> KvTensors.over(view, 2, 3, 2))
                .hasMessage("keys of layer 1: a strided view (expected: a contiguous tensor)");
        NDList shorter = past(4);
        shorter.set(1, manager.zeros(new Shape(1, 3, 3, 2)));
        assertThatThrownBy(() -> KvTensors.over(shorter, 2, 3, 2))
                .hasMessageContaining("values of layer 0: (1, 3, 3, 2)");
        assertThatThrownBy(() -> KvTensors.over(good, 3, 3, 2)).hasMessageContaining("past: 4 arrays (expected: 6");
        assertThatThrownBy(() -> KvTensors.over(good, 2, 2, 2)).hasMessageContaining("past array 0: (1, 3, 4, 2)");
    }

    @Test
    void copies_outOfRange_areRefused() {
        KvTensors tensors = KvTensors.over(past(8), 2, 3, 2);
        try (ArrowBuf block = allocator.buffer(LAYOUT.payloadBytes());
                ArrowBuf small = allocator.buffer(8)) {
            assertThatThrownBy(() -> tensors.writeBlock(block, LAYOUT, 5, 4)).hasMessageContaining("tokens: 5+4");
            assertThatThrownBy(() -> tensors.readBlock(block, LAYOUT, -1, 4)).hasMessageContaining("tokens: -1+4");
            assertThatThrownBy(() -> tensors.readBlock(block, LAYOUT, 0, 5)).hasMessageContaining("tokens: 0+5");
            assertThatThrownBy(() -> tensors.readBlock(small, LAYOUT, 0, 4)).hasMessageContaining("block bytes: 8");
            BlockLayout other = new BlockLayout(2, 3, 4, 3, 4);
            assertThatThrownBy(() -> tensors.readBlock(block, other, 0, 4)).hasMessageContaining("heads of 2 F32");
        }
    }
}
