// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads what the kernel tells of devices. A file that is missing or holds something else means unknown. */
final class SysfsReader {
    private static final Pattern NODE = Pattern.compile("node(\\d+)");
    private static final Pattern ROOT_COMPLEX = Pattern.compile("pci[0-9a-f]{4,8}:[0-9a-f]{2}");
    private static final Pattern FUNCTION = Pattern.compile("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
    private static final Pattern RATE = Pattern.compile("([0-9.]+) Gb/sec.*");
    private static final String NVIDIA = "0x10de";
    private static final String DISPLAY_CLASS = "0x03";
    private static final int VIRTUAL_TYPE_LOOPBACK = 772;
    private static final int NO_NODE = -1;

    private final Path sysfs;

    SysfsReader(Path sysfs) {
        this.sysfs = sysfs;
    }

    List<NumaNode> numaNodes() {
        List<NumaNode> nodes = new ArrayList<>();
        for (Path folder : entries(sysfs.resolve("devices/system/node"))) {
            Matcher name = NODE.matcher(folder.getFileName().toString());
            if (name.matches()) {
                List<Integer> distances = new ArrayList<>();
                for (String distance : text(folder.resolve("distance")).split("\\s+")) {
                    number(distance).ifPresent(value -> distances.add((int) value));
                }
                nodes.add(new NumaNode(Integer.parseInt(name.group(1)), text(folder.resolve("cpulist")), distances));
            }
        }
        nodes.sort(Comparator.comparingInt(NumaNode::id));
        return nodes.isEmpty() ? List.of(new NumaNode(0, "", List.of(10))) : nodes;
    }

    List<Nic> nics() {
        List<Nic> nics = new ArrayList<>();
        for (Path entry : entries(sysfs.resolve("class/net"))) {
            if (number(text(entry.resolve("type"))).orElse(-1) != VIRTUAL_TYPE_LOOPBACK && Files.isDirectory(entry)) {
                nics.add(networkInterface(entry));
            }
        }
        for (Path entry : entries(sysfs.resolve("class/infiniband"))) {
            nics.add(rdmaDevice(entry, nics));
        }
        return nics;
    }

    private Nic networkInterface(Path entry) {
        Path device = real(entry.resolve("device"));
        return new Nic(
                entry.getFileName().toString(),
                false,
                device == null ? NO_NODE : numaNode(device),
                device == null ? List.of() : pciPath(device),
                number(text(entry.resolve("speed"))).orElse(-1),
                text(entry.resolve("operstate")).equals("up"));
    }

    private Nic rdmaDevice(Path entry, List<Nic> interfaces) {
        Path device = real(entry.resolve("device"));
        // Soft devices name the interface that they stand on instead.
        String parent = text(entry.resolve("parent"));
        Nic below = interfaces.stream()
                .filter(nic -> nic.name().equals(parent))
                .findFirst()
                .orElse(null);
        long megabits = -1;
        boolean active = false;
        for (Path port : entries(entry.resolve("ports"))) {
            active |= text(port.resolve("state")).contains("ACTIVE");
            Matcher rate = RATE.matcher(text(port.resolve("rate")));
            if (rate.matches()) {
                megabits = Math.max(megabits, (long) (Double.parseDouble(rate.group(1)) * 1000));
            }
        }
        if (device == null && below != null) {
            return new Nic(entry.getFileName().toString(), true, below.numaNode(), below.pciPath(), megabits, active);
        }
        return new Nic(
                entry.getFileName().toString(),
                true,
                device == null ? NO_NODE : numaNode(device),
                device == null ? List.of() : pciPath(device),
                megabits,
                active);
    }

    List<Gpu> gpus() {
        List<Gpu> gpus = new ArrayList<>();
        for (Path entry : entries(sysfs.resolve("bus/pci/devices"))) {
            if (text(entry.resolve("vendor")).equals(NVIDIA)
                    && text(entry.resolve("class")).startsWith(DISPLAY_CLASS)) {
                Path device = real(entry);
                if (device != null) {
                    gpus.add(new Gpu(gpus.size(), numaNode(entry), pciPath(device)));
                }
            }
        }
        return gpus;
    }

    private int numaNode(Path device) {
        return (int) number(text(device.resolve("numa_node"))).orElse(NO_NODE);
    }

    /** Root complex and functions on the way to the device. */
    private static List<String> pciPath(Path device) {
        List<String> path = new ArrayList<>();
        for (Path part : device) {
            String name = part.toString();
            if (ROOT_COMPLEX.matcher(name).matches() || FUNCTION.matcher(name).matches()) {
                path.add(name);
            }
        }
        return path;
    }

    private static Path[] sorted(Stream<Path> found) {
        return found.sorted().toArray(Path[]::new);
    }

    private static Path[] entries(Path folder) {
        try (Stream<Path> found = Files.list(folder)) {
            return sorted(found);
        } catch (IOException e) {
            return new Path[0];
        }
    }

    private static @org.jspecify.annotations.Nullable Path real(Path link) {
        try {
            return link.toRealPath();
        } catch (IOException e) {
            return null;
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }

    private static OptionalLong number(String text) {
        try {
            return OptionalLong.of(Long.parseLong(text));
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
