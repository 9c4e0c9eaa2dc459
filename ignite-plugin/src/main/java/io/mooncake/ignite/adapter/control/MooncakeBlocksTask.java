// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Mooncake;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.ignite.internal.processors.task.GridInternal;
import org.apache.ignite.spi.systemview.view.FiltrableSystemView;
import org.apache.ignite.spi.systemview.view.SystemView;

/** Reads the view of blocks of each node, as far as the limit goes. */
@GridInternal
public final class MooncakeBlocksTask extends LinesTask<MooncakeBlocksCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected LinesJob<MooncakeBlocksCommandArg> job(MooncakeBlocksCommandArg arg) {
        return new BlocksJob(arg, debug);
    }

    private static final class BlocksJob extends LinesJob<MooncakeBlocksCommandArg> {
        private static final long serialVersionUID = 0;

        BlocksJob(MooncakeBlocksCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        List<String> lines(Mooncake mooncake, MooncakeBlocksCommandArg arg) {
            SystemView<Object> view = ignite.context().systemView().view("mooncake.blocks");
            if (view == null) {
                return List.of("no pool here");
            }
            Map<String, Object> filter = new HashMap<>();
            if (arg.pool() != null) {
                filter.put("pool", arg.pool());
            }
            Iterator<Object> rows = ((FiltrableSystemView<Object>) view).iterator(filter);
            List<String> lines = new ArrayList<>();
            while (rows.hasNext() && lines.size() < arg.limit()) {
                RowText text = new RowText();
                view.walker().visitAll(rows.next(), text);
                lines.add(text.toString());
            }
            lines.add(lines.size() + (rows.hasNext() ? " blocks, and more (--limit)" : " blocks"));
            return lines;
        }
    }
}
