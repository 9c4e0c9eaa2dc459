// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.topology;

import io.mooncake.base.MooncakeException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Network interfaces, NUMA nodes and GPUs of a machine, and the rails for each memory location.
 *
 * <p>Rails are interfaces whose link is up: RDMA devices where there are any, else network interfaces with a device behind them, else
 * virtual ones. One that is slower than a tenth of the fastest is for management, not a rail. The preferred rails of a location are those
 * nearest to it: behind the same PCI switch, at the same root complex, at the same NUMA node, at other nodes by the kernel's distance.
 *
 * @param numaNodes at least one
 * @param nics all interfaces but loopback, those that are no rails too
 * @param gpus in the order of bus addresses
 * @param rails a preference for each NUMA node and GPU
 */
public record Topology(List<NumaNode> numaNodes, List<Nic> nics, List<Gpu> gpus, List<RailPreference> rails) {
    /** System property with the path of a file of overrides. */
    public static final String FILE_PROPERTY = "mooncake.topology.file";

    /** Of {@link #preferred}: no preference. */
    public static final int ALL = -1;

    private static final int MANAGEMENT_SHARE = 10;
    private static final int OTHER_NODE_DISTANCE = 20;

    public Topology {
        numaNodes = List.copyOf(numaNodes);
        nics = List.copyOf(nics);
        gpus = List.copyOf(gpus);
        rails = List.copyOf(rails);
    }

    /** Reads this machine's. Never throws: what the kernel does not tell is unknown. */
    public static Topology read() {
        return read(Path.of("/sys"));
    }

    /** Reads from a tree of sysfs at {@code sysfs}, for example one that was copied from another machine. */
    public static Topology read(Path sysfs) {
        SysfsReader reader = new SysfsReader(sysfs);
        List<NumaNode> nodes = reader.numaNodes();
        List<Nic> nics = reader.nics();
        List<Gpu> gpus = reader.gpus();
        List<Nic> usable = usable(nics);
        List<RailPreference> rails = new ArrayList<>();
        for (NumaNode node : nodes) {
            rails.add(preference("cpu:" + node.id(), usable, nic -> distance(nodes, node, nic)));
        }
        for (Gpu gpu : gpus) {
            rails.add(preference(gpu.location(), usable, nic -> distance(nodes, gpu, nic)));
        }
        return new Topology(nodes, nics, gpus, rails);
    }

    /**
     * This topology with what the lines of {@code file} say about rails, see {@link RailOverrides}.
     *
     * @throws MooncakeException CONFIGURATION naming file, line, value and what was expected
     */
    public Topology withOverrides(Path file) {
        Map<String, RailPreference> said = RailOverrides.read(file, this);
        return new Topology(
                numaNodes,
                nics,
                gpus,
                rails.stream()
                        .map(rail -> said.getOrDefault(rail.location(), rail))
                        .toList());
    }

    /**
     * The rails for memory at {@code location}.
     *
     * @throws MooncakeException INVALID_ARGUMENT when the machine has no such location
     */
    public RailPreference rails(String location) {
        return rails.stream()
                .filter(rail -> rail.location().equals(location))
                .findFirst()
                .orElseThrow(() -> MooncakeException.invalid(
                        "memory location",
                        location,
                        String.join(
                                ", ",
                                rails.stream().map(RailPreference::location).toList())));
    }

    /** The memory location of the GPU at a bus address; empty when the machine shows none there. */
    public Optional<String> gpuLocation(String pciAddress) {
        return gpus.stream()
                .filter(gpu -> gpu.pciAddress().equals(pciAddress))
                .findFirst()
                .map(Gpu::location);
    }

    /**
     * This machine's, with the overrides of the file that the system property {@value #FILE_PROPERTY} names, if it names one.
     *
     * @throws MooncakeException CONFIGURATION when that file is wrong
     */
    public static Topology configured() {
        String file = System.getProperty(FILE_PROPERTY, "");
        return file.isEmpty() ? read() : read().withOverrides(Path.of(file));
    }

    /**
     * Names of the rails that are preferred by the memory of this process: of the NUMA nodes on whose processors it may run, which is where its
     * memory comes from, and of GPUs. A process that may run everywhere prefers those of every node.
     *
     * @param gpuAddresses bus addresses of the GPUs that the process uses
     */
    public List<String> ownRails(List<String> gpuAddresses) {
        List<String> locations = new ArrayList<>(CpuNodes.allowed(numaNodes));
        gpuAddresses.forEach(address -> gpuLocation(address).ifPresent(locations::add));
        return preferredBy(locations);
    }

    /** Locations {@code cpu:N} of memory of this process: one, or more where its pages lie scattered or where that is not known. */
    public List<String> locations(long address, long length) {
        return MemoryLocations.of(numaNodes, address, length);
    }

    /**
     * Which of some interfaces memory at those locations prefers. An RDMA device and the network interface of the same card stand for each
     * other. A location that prefers none of them has no preference, and neither has memory without a location.
     *
     * @param names of interfaces, at most 32; one that is unknown is preferred by nobody
     * @return a bit for each interface by its place, all bits where there is no preference
     */
    public int preferred(List<String> locations, List<String> names) {
        int any = locations.isEmpty() ? ALL : 0;
        for (RailPreference one : rails) {
            if (locations.contains(one.location())) {
                int bits = 0;
                for (int i = 0; i < names.size(); i++) {
                    String name = names.get(i);
                    if (one.preferred().stream().anyMatch(rail -> rail.equals(name) || sameCard(rail, name))) {
                        bits |= 1 << i;
                    }
                }
                any |= bits == 0 ? ALL : bits;
            }
        }
        return any == 0 ? ALL : any;
    }

    private boolean sameCard(String one, String other) {
        List<String> path = pciPath(one);
        return !path.isEmpty() && path.equals(pciPath(other));
    }

    private List<String> pciPath(String name) {
        return nics.stream()
                .filter(nic -> nic.name().equals(name))
                .findFirst()
                .map(Nic::pciPath)
                .orElse(List.of());
    }

    List<String> preferredBy(List<String> locations) {
        return rails.stream()
                .filter(rail -> locations.contains(rail.location()))
                .flatMap(rail -> rail.preferred().stream())
                .distinct()
                .toList();
    }

    private static List<Nic> usable(List<Nic> nics) {
        List<Nic> active = nics.stream().filter(Nic::active).toList();
        List<Nic> kind = active.stream().filter(Nic::rdma).toList();
        if (kind.isEmpty()) {
            kind = active.stream().filter(Nic::physical).toList();
        }
        if (kind.isEmpty()) {
            kind = active;
        }
        long fastest = kind.stream().mapToLong(Nic::megabits).max().orElse(-1);
        return kind.stream()
                .filter(nic -> nic.megabits() < 0 || nic.megabits() * MANAGEMENT_SHARE >= fastest)
                .toList();
    }

    private record Distance(Proximity proximity, int nodes) implements Comparable<Distance> {
        @Override
        public int compareTo(Distance other) {
            int nearer = proximity.compareTo(other.proximity);
            return nearer != 0 ? nearer : Integer.compare(nodes, other.nodes);
        }
    }

    private static RailPreference preference(
            String location, List<Nic> usable, java.util.function.Function<Nic, Distance> distance) {
        Map<Distance, List<String>> byDistance = new TreeMap<>();
        usable.stream()
                .sorted(Comparator.comparingLong(Nic::megabits).reversed().thenComparing(Nic::name))
                .forEach(nic -> byDistance
                        .computeIfAbsent(distance.apply(nic), key -> new ArrayList<>())
                        .add(nic.name()));
        List<String> preferred = List.of();
        Proximity proximity = Proximity.UNKNOWN;
        List<String> secondary = new ArrayList<>();
        for (Map.Entry<Distance, List<String>> group : byDistance.entrySet()) {
            if (preferred.isEmpty()) {
                preferred = group.getValue();
                proximity = group.getKey().proximity();
            } else {
                secondary.addAll(group.getValue());
            }
        }
        return new RailPreference(location, preferred, secondary, proximity, false);
    }

    private static Distance distance(List<NumaNode> nodes, NumaNode node, Nic nic) {
        int nicNode = nodeOf(nodes, nic.numaNode());
        if (nicNode < 0) {
            return new Distance(Proximity.UNKNOWN, 0);
        }
        if (nicNode == node.id()) {
            return new Distance(Proximity.NUMA_NODE, 0);
        }
        return new Distance(Proximity.OTHER_NODE, between(nodes, node, nicNode));
    }

    private static Distance distance(List<NumaNode> nodes, Gpu gpu, Nic nic) {
        int common = 0;
        int most = Math.min(gpu.pciPath().size(), nic.pciPath().size()) - 1;
        while (common < most && gpu.pciPath().get(common).equals(nic.pciPath().get(common))) {
            common++;
        }
        if (common > 1) {
            // Beyond the root complex they share a bridge; the deeper it is, the nearer they are.
            return new Distance(Proximity.SWITCH, -common);
        }
        if (common == 1) {
            return new Distance(Proximity.ROOT_COMPLEX, 0);
        }
        int gpuNode = nodeOf(nodes, gpu.numaNode());
        int nicNode = nodeOf(nodes, nic.numaNode());
        if (gpuNode < 0 || nicNode < 0) {
            return new Distance(Proximity.UNKNOWN, 0);
        }
        if (gpuNode == nicNode) {
            return new Distance(Proximity.NUMA_NODE, 0);
        }
        NumaNode own =
                nodes.stream().filter(node -> node.id() == gpuNode).findFirst().orElse(nodes.get(0));
        return new Distance(Proximity.OTHER_NODE, between(nodes, own, nicNode));
    }

    /** On a machine with one node, everything is there. */
    private static int nodeOf(List<NumaNode> nodes, int told) {
        return told < 0 && nodes.size() == 1 ? nodes.get(0).id() : told;
    }

    private static int between(List<NumaNode> nodes, NumaNode from, int to) {
        for (int i = 0; i < nodes.size() && i < from.distances().size(); i++) {
            if (nodes.get(i).id() == to) {
                return from.distances().get(i);
            }
        }
        return OTHER_NODE_DISTANCE;
    }
}
