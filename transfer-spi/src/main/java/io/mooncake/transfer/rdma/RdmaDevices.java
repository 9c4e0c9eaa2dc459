// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaGpu;
import io.mooncake.natives.Verbs;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsEvent;
import io.mooncake.transfer.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The devices of an engine, and a thread each that hears what they say: a port that goes down or comes back, a queue pair that breaks, a
 * device that is lost. What a device does not say is found out by asking once a second.
 */
final class RdmaDevices implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaDevices.class);
    private static final int ASK_MILLIS = 1000;
    private static final long END_MILLIS = 2000;

    private final List<RdmaPort> ports;
    private final List<Thread> listeners = new ArrayList<>();
    private volatile boolean closed;

    /** Who wants to know; called on a device's thread. */
    interface Watcher {
        /** The port carries no traffic any more. */
        void down(RdmaPort port);

        /** The port carries traffic again. */
        void up(RdmaPort port);

        /** A queue pair of that device is broken. */
        void broken(RdmaPort port, int queuePair);
    }

    private RdmaDevices(List<RdmaPort> ports) {
        this.ports = List.copyOf(ports);
    }

    /**
     * Opens what {@code config} names: all of it, one at least active; or those active ones that this process's memory and GPUs prefer by the machine's
     * topology, and where there are none of these, all that are active.
     *
     * @throws MooncakeException CONFIGURATION with every device's reason when there is none
     */
    static RdmaDevices open(RdmaConfig config) {
        Verbs.unavailable().ifPresent(reason -> {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, "RDMA: " + reason);
        });
        boolean named = !config.devices().isEmpty();
        List<RdmaPort> opened = new ArrayList<>();
        List<String> refused = new ArrayList<>();
        List<String> all = named ? config.devices() : Verbs.devices();
        List<String> first = named ? all : preferred(all);
        open(first, config, named, opened, refused);
        if (opened.isEmpty()) {
            open(all.stream().filter(name -> !first.contains(name)).toList(), config, named, opened, refused);
        }
        boolean usable = opened.stream().anyMatch(RdmaPort::active) && !(named && !refused.isEmpty());
        if (!usable) {
            opened.stream()
                    .filter(port -> !port.active())
                    .forEach(port -> refused.add(
                            port.device().name() + ": port " + port.number() + " is down (expected: an active port)"));
            opened.forEach(port -> port.device().close());
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "RDMA: no usable device" + (refused.isEmpty() ? "" : ": " + String.join("; ", refused)));
        }
        return new RdmaDevices(opened);
    }

    private static List<String> preferred(List<String> all) {
        if (all.size() == 1) {
            return all;
        }
        List<String> gpus = Cuda.gpus().stream().map(CudaGpu::pciBusId).toList();
        return Topology.configured().ownRails(gpus).stream()
                .filter(all::contains)
                .toList();
    }

    private static void open(
            List<String> names, RdmaConfig config, boolean named, List<RdmaPort> opened, List<String> refused) {
        for (String name : names) {
            String reason = opened.size() == RdmaConfig.MAX_DEVICES ? null : open(name, config, named, opened);
            if (reason != null) {
                refused.add(reason);
            }
        }
    }

    /** Adds the device to {@code opened}, or says why not. */
    private static @Nullable String open(String name, RdmaConfig config, boolean named, List<RdmaPort> opened) {
        VerbsDevice device = null;
        boolean kept = false;
        try {
            device = Verbs.open(name);
            RdmaPort port = new RdmaPort(opened.size(), device, config);
            kept = named || port.active();
            if (kept) {
                opened.add(port);
            }
            return kept ? null : name + ": port " + config.port() + " is down (expected: an active port)";
        } catch (MooncakeException e) {
            return e.getMessage();
        } finally {
            if (!kept && device != null) {
                device.close();
            }
        }
    }

    /** In the order of their indexes. */
    List<RdmaPort> ports() {
        return ports;
    }

    /** Largest registration that all of them take. */
    long registrationBytes() {
        return ports.stream().mapToLong(RdmaPort::registrationBytes).min().orElseThrow();
    }

    /** Whether one at least carries traffic. */
    boolean anyActive() {
        for (RdmaPort port : ports) {
            if (port.active()) {
                return true;
            }
        }
        return false;
    }

    /** The port with that index, or one after it that carries traffic; null when none does. */
    @Nullable
    RdmaPort activeFrom(int index) {
        for (int i = 0; i < ports.size(); i++) {
            RdmaPort port = ports.get((index + i) % ports.size());
            if (port.active()) {
                return port;
            }
        }
        return null;
    }

    /** Starts to listen. */
    void watch(Watcher watcher) {
        for (RdmaPort port : ports) {
            Thread listener = new Thread(
                    () -> listen(port, watcher),
                    "mooncake-rdma-events-" + port.device().name());
            listener.setDaemon(true);
            listeners.add(listener);
            listener.start();
        }
    }

    private void listen(RdmaPort port, Watcher watcher) {
        while (!closed) {
            boolean before = port.active();
            try {
                VerbsEvent event = port.device().awaitEvent(ASK_MILLIS);
                if (!closed) {
                    take(port, event, watcher);
                }
            } catch (MooncakeException e) {
                LOG.warn("{}: taken out of use: {}", port, e.getMessage());
                port.lost();
            }
            boolean after = port.active();
            if (before != after && !closed) {
                LOG.warn("RDMA port {}", port);
                if (after) {
                    watcher.up(port);
                } else {
                    watcher.down(port);
                }
            }
        }
    }

    private static void take(RdmaPort port, @Nullable VerbsEvent event, Watcher watcher) {
        if (event == null) {
            refresh(port);
            return;
        }
        switch (event.kind()) {
            case PORT_DOWN -> {
                if (event.subject() == port.number()) {
                    port.down();
                }
            }
            case DEVICE_LOST -> port.lost();
            case QUEUE_PAIR_BROKEN -> watcher.broken(port, event.subject());
            case PORT_UP, PORT_CHANGED, OTHER -> refresh(port);
        }
    }

    private static void refresh(RdmaPort port) {
        try {
            port.refresh();
        } catch (MooncakeException e) {
            // Active, but without an address yet: asked again.
            port.down();
            LOG.debug("{}: {}", port, e.getMessage());
        }
    }

    /** Closes the devices; a device in use stays open, and that is thrown after the others are closed. */
    @Override
    public void close() {
        closed = true;
        ports.forEach(port -> port.device().endEvents());
        boolean interrupted = false;
        for (Thread listener : listeners) {
            try {
                listener.join(END_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        MooncakeException failure = null;
        for (RdmaPort port : ports) {
            try {
                port.device().close();
            } catch (MooncakeException e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public String toString() {
        return ports.toString();
    }
}
