// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives each test of the class a {@link MooncakeCluster} of its own as a parameter: real Ignite nodes in this process, each with the
 * plugin and the same tiny seeded model.
 *
 * <pre>{@code
 * @MooncakeTest(nodes = 3)
 * class MyTest {
 *     @Test
 *     void hit(MooncakeCluster cluster) { ... }
 * }
 * }</pre>
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(MooncakeClusterExtension.class)
public @interface MooncakeTest {
    /** Server nodes, 1..16. */
    int nodes() default 3;

    /** Thick clients, 0..4. */
    int clients() default 0;

    /** Off-heap memory for blocks a server node, for example {@code 64MiB}. */
    String dram() default "64MiB";

    /** Whether nodes have the tiny model; otherwise a {@link MooncakeCluster#smallPool} of the same name, which needs no DJL. */
    boolean model() default true;

    /** Seed of the model's weights. */
    long seed() default 42;

    /** Whether Ignite's communication SPI owns the transfer engine; otherwise the plugin does. */
    boolean communicationSpi() default false;
}
