// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A file that says which rails memory locations use, where the machine's own answer is not wanted.
 *
 * <pre>
 * # location = preferred rails | secondary rails
 * cpu:0 = mlx5_0, mlx5_1 | mlx5_2
 * gpu:3 = mlx5_3
 * </pre>
 *
 * Locations that it does not name stay as they are.
 */
final class RailOverrides {
    private RailOverrides() {}

    static Map<String, RailPreference> read(Path file, Topology machine) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION, "topology file: " + file + " (expected: a readable text)", e);
        }
        Map<String, RailPreference> said = new HashMap<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).replaceFirst("#.*", "").strip();
            if (!line.isEmpty()) {
                RailPreference one = parse(line, file + ":" + (i + 1), machine);
                if (said.put(one.location(), one) != null) {
                    throw wrong(file + ":" + (i + 1), one.location() + " twice", "each location once");
                }
            }
        }
        return said;
    }

    private static RailPreference parse(String line, String place, Topology machine) {
        String[] sides = line.split("=", -1);
        if (sides.length != 2) {
            throw wrong(place, line, "location = rail, ... | rail, ...");
        }
        String location = sides[0].strip();
        List<String> locations =
                machine.rails().stream().map(RailPreference::location).toList();
        if (!locations.contains(location)) {
            throw wrong(place, location, String.join(", ", locations));
        }
        String[] groups = sides[1].split("\\|", -1);
        if (groups.length > 2) {
            throw wrong(place, sides[1].strip(), "at most one |");
        }
        List<String> preferred = names(groups[0], place, machine);
        List<String> secondary = groups.length == 2 ? names(groups[1], place, machine) : List.of();
        if (preferred.isEmpty()) {
            throw wrong(place, line, "at least one preferred rail");
        }
        List<String> both = new ArrayList<>(preferred);
        both.addAll(secondary);
        if (both.stream().distinct().count() != both.size()) {
            throw wrong(place, String.join(", ", both), "each rail once");
        }
        return new RailPreference(
                location, preferred, secondary, machine.rails(location).proximity(), true);
    }

    private static List<String> names(String group, String place, Topology machine) {
        List<String> known = machine.nics().stream().map(Nic::name).toList();
        List<String> names = Arrays.stream(group.split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
        for (String name : names) {
            if (!known.contains(name)) {
                throw wrong(place, name, "one of " + String.join(", ", known));
            }
        }
        return names;
    }

    private static MooncakeException wrong(String place, String value, String expected) {
        return new MooncakeException(
                MooncakeException.Code.CONFIGURATION, place + ": " + value + " (expected: " + expected + ")");
    }
}
