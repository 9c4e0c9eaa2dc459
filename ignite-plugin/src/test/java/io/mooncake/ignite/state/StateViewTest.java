// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class StateViewTest {
    private static final UUID NODE = new UUID(1, 2);
    private final List<String> told = new ArrayList<>();
    private final StateView view = new StateView();

    @Test
    void copy_beingFilled_isNotSeenUntilWhole() {
        StateView.Copy copy = view.begin();
        copy.scanned(row("a", 1));
        assertThat(view.find("quota:a")).isNull();

        copy.whole();

        assertThat(view.find("quota:a")).isEqualTo(row("a", 1));
    }

    @Test
    void scanned_olderThanTheEvent_doesNotCount() {
        StateView.Copy copy = view.begin();
        copy.changed(row("a", 2));
        copy.scanned(row("a", 1));
        copy.whole();

        assertThat(view.find("quota:a")).isEqualTo(row("a", 2));
    }

    @Test
    void scanned_removedMeanwhile_staysAway() {
        StateView.Copy copy = view.begin();
        copy.removed(row("a", 3));
        copy.scanned(row("a", 3));
        copy.whole();

        assertThat(view.size()).isZero();
    }

    @Test
    void scanned_removedAndMadeAgainMeanwhile_isTheNewOne() {
        StateView.Copy copy = view.begin();
        copy.removed(row("a", 3));
        copy.changed(row("a", 1));
        copy.scanned(row("a", 3));
        copy.whole();

        assertThat(view.find("quota:a")).isEqualTo(row("a", 1));
    }

    @Test
    void whole_afterAnotherCopy_tellsWhatDiffers() {
        StateView.Copy before = view.begin();
        before.scanned(row("stays", 1));
        before.scanned(row("grows", 1));
        before.scanned(row("goes", 1));
        before.whole();
        view.addListener((key, row) -> told.add(key + " " + (row == null ? "gone" : row.version())));

        StateView.Copy after = view.begin();
        after.scanned(row("stays", 1));
        after.scanned(row("grows", 2));
        after.scanned(row("comes", 1));
        assertThat(told).isEmpty();
        after.whole();
        after.changed(row("comes", 2));
        after.removed(row("comes", 2));

        assertThat(told.subList(0, 3)).containsExactlyInAnyOrder("quota:grows 2", "quota:comes 1", "quota:goes gone");
        assertThat(told.subList(3, 5)).containsExactly("quota:comes 2", "quota:comes gone");
    }

    @Test
    void copy_scanAndEventsInAnyOrder_endsAsTheCache() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("seed " + seed + " (-Dmooncake.seed=" + seed + ")");
        Random random = new Random(seed);
        for (int round = 0; round < 2_000; round++) {
            Map<String, Long> cache = new HashMap<>();
            for (String name : List.of("a", "b", "c")) {
                if (random.nextBoolean()) {
                    cache.put(name, 1L + random.nextInt(3));
                }
            }
            // A key is scanned as it is at some moment of the events; events of a key keep their order.
            StateView.Copy copy = view.begin();
            Map<String, Integer> scanAt = new HashMap<>();
            Map<String, Versioned<?>> scan = new HashMap<>();
            int steps = random.nextInt(12);
            List.of("a", "b", "c").forEach(name -> scanAt.put(name, random.nextInt(steps + 1)));
            for (int step = 0; step <= steps; step++) {
                for (String name : scanAt.keySet()) {
                    if (scanAt.get(name) == step && cache.containsKey(name)) {
                        scan.put(name, row(name, cache.get(name)));
                    }
                }
                if (step < steps) {
                    change(random, cache, copy);
                }
            }
            scan.values().forEach(copy::scanned);
            copy.whole();

            Map<String, Long> shown = new HashMap<>();
            view.rows().forEach(row -> shown.put(((StateRow.Quota) row.row()).tenant(), row.version()));
            assertThat(shown).as("seed %d round %d", seed, round).isEqualTo(cache);
        }
    }

    private static void change(Random random, Map<String, Long> cache, StateView.Copy copy) {
        String name = List.of("a", "b", "c").get(random.nextInt(3));
        Long version = cache.get(name);
        if (version == null) {
            cache.put(name, 1L);
            copy.changed(row(name, 1));
        } else if (random.nextInt(3) == 0) {
            cache.remove(name);
            copy.removed(row(name, version));
        } else {
            cache.put(name, version + 1);
            copy.changed(row(name, version + 1));
        }
    }

    private static Versioned<StateRow.Quota> row(String tenant, long version) {
        return new Versioned<>(new StateRow.Quota(tenant, 1, version), version, NODE, NODE);
    }
}
