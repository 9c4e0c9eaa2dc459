// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.transfer.internal.DeviceMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.topology.Topology;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells each region which rails of this engine are near its memory: its location by the kernel, the rails of that location by the machine's
 * topology. Where there is one rail at most, nothing is looked at.
 */
final class RegionRails {
    private static final Logger LOG = LoggerFactory.getLogger(RegionRails.class);

    private final List<String> interfaces;
    private final List<String> devices;
    private final Topology topology;

    /**
     * @param topology this machine's
     * @param addresses where data connections start, empty where the system chooses
     * @param devices RDMA devices
     */
    RegionRails(Topology topology, List<InetAddress> addresses, List<String> devices) {
        this.topology = topology;
        this.interfaces = addresses.stream().map(RegionRails::interfaceOf).toList();
        this.devices = devices;
    }

    /** Name of the interface with that address; empty when none has it. */
    private static String interfaceOf(InetAddress address) {
        try {
            NetworkInterface found = NetworkInterface.getByInetAddress(address);
            return found == null ? "" : found.getName();
        } catch (SocketException e) {
            return "";
        }
    }

    /** Before the region is used. */
    void place(Region region) {
        if (interfaces.size() < 2 && devices.size() < 2) {
            return;
        }
        List<String> locations = locations(region);
        int tcp = topology.preferred(locations, interfaces);
        int rdma = topology.preferred(locations, devices);
        region.prefer(tcp, rdma);
        if (tcp != Topology.ALL || rdma != Topology.ALL) {
            LOG.info(
                    "Region {} lies at {}: rails {} are preferred",
                    region.id(),
                    String.join(", ", locations),
                    named(tcp, interfaces, named(rdma, devices, new ArrayList<>())));
        }
    }

    private List<String> locations(Region region) {
        DeviceMemory device = region.device();
        if (device == null) {
            return topology.locations(region.address(), region.length());
        }
        Optional<String> gpu = topology.gpuLocation(device.pciAddress());
        return gpu.map(List::of).orElse(List.of());
    }

    private static List<String> named(int bits, List<String> names, List<String> into) {
        for (int i = 0; i < names.size(); i++) {
            if ((bits & 1 << i) != 0) {
                into.add(names.get(i));
            }
        }
        return into;
    }
}
