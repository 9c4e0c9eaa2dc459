// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.ScrubReport;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvPool;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.internal.processors.task.GridInternal;

/** Lets each node check its pools. */
@GridInternal
public final class MooncakeScrubTask extends LinesTask<MooncakeScrubCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected LinesJob<MooncakeScrubCommandArg> job(MooncakeScrubCommandArg arg) {
        return new ScrubJob(arg, debug);
    }

    private static final class ScrubJob extends LinesJob<MooncakeScrubCommandArg> {
        private static final long serialVersionUID = 0;

        ScrubJob(MooncakeScrubCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        List<String> lines(Mooncake mooncake, MooncakeScrubCommandArg arg) {
            List<String> lines = new ArrayList<>();
            for (KvPool pool : mooncake.pools()) {
                if (arg.pool() == null || pool.name().equals(arg.pool())) {
                    ScrubReport report = mooncake.scrub(pool.name());
                    lines.add(report.pool() + ": " + report.checked() + " blocks of " + report.bytes()
                            + " bytes checked, " + report.dropped().size() + " damaged and dropped, "
                            + report.kept().size() + " damaged and pinned");
                    report.dropped().forEach(key -> lines.add(line("dropped", key)));
                    report.kept().forEach(key -> lines.add(line("pinned", key)));
                }
            }
            return lines.isEmpty() ? List.of("no such pool here") : lines;
        }

        private static String line(String what, BlockKey key) {
            return "  " + what + " " + key.hex();
        }
    }
}
