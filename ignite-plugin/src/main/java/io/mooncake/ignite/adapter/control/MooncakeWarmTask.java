// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Mooncake;
import java.time.Duration;
import java.util.List;
import org.apache.ignite.internal.processors.task.GridInternal;

/** Warms the node that it runs on. */
@GridInternal
public final class MooncakeWarmTask extends LinesTask<MooncakeWarmCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected LinesJob<MooncakeWarmCommandArg> job(MooncakeWarmCommandArg arg) {
        return new WarmJob(arg, debug);
    }

    private static final class WarmJob extends LinesJob<MooncakeWarmCommandArg> {
        private static final long serialVersionUID = 0;

        WarmJob(MooncakeWarmCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        List<String> lines(Mooncake mooncake, MooncakeWarmCommandArg arg) {
            long came = mooncake.warmUp(arg.pool(), arg.maxBlocks(), Duration.ofMillis(arg.timeoutMillis()));
            return List.of(came + " blocks came");
        }
    }
}
