// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.ReuseMode;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Which differences make another pool under one name, and which are mistakes. */
class IdentityTextTest {
    private static final PoolBean POOL = TestGrid.pool("p");

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void mistakes_oneFieldDiffers_areAllButWeightsAndTokenizer(
            String field, UnaryOperator<PoolBean> change, boolean mistake) {
        String left = text(change.apply(TestGrid.pool("p")));
        String right = text(POOL);

        List<String> mistakes = IdentityText.mistakes(left, right);

        assertThat(IdentityText.differences(left, right)).anyMatch(text -> text.startsWith(field + " "));
        assertThat(IdentityText.digest(left)).isNotEqualTo(IdentityText.digest(right));
        if (mistake) {
            assertThat(mistakes).hasSize(1).allMatch(text -> text.startsWith(field + " "));
        } else {
            assertThat(mistakes).isEmpty();
        }
    }

    static Stream<Arguments> changes() {
        return Stream.of(
                change("modelDigest", pool -> pool.setModel("other"), false),
                change("tokenizerDigest", pool -> pool.setTokenizer("other"), false),
                change("engineLayout", pool -> pool.setEngineLayout("other"), true),
                change("rope", pool -> pool.setRope("other"), true),
                change("mode", pool -> pool.setMode(ReuseMode.FAST), true),
                change("dataType", pool -> pool.setDataType(KvDataType.F16), true),
                change("layers", pool -> pool.setLayers(3), true),
                change("kvHeads", pool -> pool.setKvHeads(3), true),
                change("headSize", pool -> pool.setHeadSize(8), true),
                change("blockTokens", pool -> pool.setBlockTokens(32), true));
    }

    private static Arguments change(String field, UnaryOperator<PoolBean> change, boolean mistake) {
        return Arguments.of(field, change, mistake);
    }

    private static String text(PoolBean pool) {
        return IdentityText.encode(pool.toDefinition().identity());
    }
}
