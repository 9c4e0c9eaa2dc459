// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Cuts the blocks of one pool into runs: at branches, at gaps, and at every multiple of {@link #MAX_BLOCKS} from the start of the prompt,
 * so that nodes which hold the same chain cut it at the same places. A pure function, linear in the blocks.
 */
final class RunBuilder {
    /** Most blocks of a run. */
    static final int MAX_BLOCKS = 32;

    private final Map<BlockKey, BlockView> byKey;
    private final Map<BlockKey, Children> byParent;

    private RunBuilder(Collection<BlockView> views) {
        this.byKey = new HashMap<>(views.size() * 2);
        this.byParent = new HashMap<>(views.size() * 2);
        for (BlockView view : views) {
            byKey.put(view.block().key(), view);
        }
        for (BlockView view : byKey.values()) {
            byParent.computeIfAbsent(view.block().parent(), key -> new Children())
                    .add(view);
        }
    }

    /** The runs of {@code views}, in no order; each block is in exactly one. */
    static List<Run> build(Collection<BlockView> views) {
        RunBuilder builder = new RunBuilder(views);
        List<Run> runs = new ArrayList<>();
        for (BlockView view : builder.byKey.values()) {
            if (builder.isFirst(view)) {
                runs.add(builder.follow(view));
            }
        }
        return runs;
    }

    private boolean isFirst(BlockView view) {
        BlockKey parent = view.block().parent();
        Children siblings = byParent.get(parent);
        return view.block().depth() % MAX_BLOCKS == 0
                || !byKey.containsKey(parent)
                || (siblings != null && siblings.count > 1);
    }

    private Run follow(BlockView first) {
        BlockView last = first;
        int blocks = 1;
        long bytes = first.bytes();
        BlockView next = next(last);
        while (next != null && blocks < MAX_BLOCKS) {
            last = next;
            blocks++;
            bytes += last.bytes();
            next = next(last);
        }
        return new Run(first.block().key(), last.block().key(), last.block().depth(), blocks, bytes, last.hits());
    }

    private @Nullable BlockView next(BlockView view) {
        Children children = byParent.get(view.block().key());
        if (children == null || children.count != 1 || children.last == null) {
            return null;
        }
        return isFirst(children.last) ? null : children.last;
    }

    private static final class Children {
        private int count;
        private @Nullable BlockView last;

        private void add(BlockView view) {
            count++;
            last = view;
        }
    }
}
