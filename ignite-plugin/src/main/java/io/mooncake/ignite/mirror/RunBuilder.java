// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;
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

    private final Map<BlockKey, SeenBlock> byKey;
    private final Map<BlockKey, Children> byParent;

    private RunBuilder(Collection<SeenBlock> views) {
        this.byKey = new HashMap<>(views.size() * 2);
        this.byParent = new HashMap<>(views.size() * 2);
        for (SeenBlock view : views) {
            byKey.put(view.key(), view);
        }
        for (SeenBlock view : byKey.values()) {
            byParent.computeIfAbsent(view.parent(), key -> new Children()).add(view);
        }
    }

    /** The runs of {@code views}, in no order; each block is in exactly one. */
    static List<Run> build(Collection<SeenBlock> views) {
        RunBuilder builder = new RunBuilder(views);
        List<Run> runs = new ArrayList<>();
        for (SeenBlock view : builder.byKey.values()) {
            if (builder.isFirst(view)) {
                runs.add(builder.follow(view));
            }
        }
        return runs;
    }

    private boolean isFirst(SeenBlock view) {
        BlockKey parent = view.parent();
        Children siblings = byParent.get(parent);
        return view.depth() % MAX_BLOCKS == 0 || !byKey.containsKey(parent) || (siblings != null && siblings.count > 1);
    }

    private Run follow(SeenBlock first) {
        SeenBlock last = first;
        int blocks = 1;
        long bytes = first.bytes();
        SeenBlock next = next(last);
        while (next != null && blocks < MAX_BLOCKS) {
            last = next;
            blocks++;
            bytes += last.bytes();
            next = next(last);
        }
        return new Run(first.key(), last.key(), last.depth(), blocks, bytes, last.hits());
    }

    private @Nullable SeenBlock next(SeenBlock view) {
        Children children = byParent.get(view.key());
        if (children == null || children.count != 1 || children.last == null) {
            return null;
        }
        return isFirst(children.last) ? null : children.last;
    }

    private static final class Children {
        private int count;
        private @Nullable SeenBlock last;

        private void add(SeenBlock view) {
            count++;
            last = view;
        }
    }
}
