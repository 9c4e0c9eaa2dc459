// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.base.ByteSize;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.PoolDefinition;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.ignite.security.JobClasses;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.policy.Policies;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.TransferProtocol;
import io.mooncake.transfer.ignite.EngineOptionsReader;
import io.mooncake.transfer.ignite.OwnAddress;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;

/** Turns the bean's values into settings, or reports everything that is wrong with them at once. One use each. */
public final class SettingsReader {
    private static final int MIN_SECRET = 16;
    private static final int MAX_SECRET = 256;
    private static final String FILE = "file:";
    private static final long MIN_FEED_RING = 2L << 20;
    private static final long MAX_FEED_RING = 16L << 30;
    private static final long MAX_LEASE_MILLIS = 60_000;
    private static final EngineOptionsReader.Names NAMES =
            new EngineOptionsReader.Names("", "host", "portFrom", "portTo");

    private final PluginOptions options;
    private final IgniteConfiguration ignite;
    private final long machineBytes;
    private final List<String> wrong = new ArrayList<>();

    private SettingsReader(PluginOptions options, IgniteConfiguration ignite, long machineBytes) {
        this.options = options;
        this.ignite = ignite;
        this.machineBytes = machineBytes;
    }

    /**
     * Reads and checks everything. Binds nothing, allocates nothing.
     *
     * @throws MooncakeException CONFIGURATION that lists every violation: option, value, what was expected
     */
    public static MooncakeSettings read(PluginOptions options, IgniteConfiguration ignite) {
        return read(options, ignite, MemoryPlan.machineBytes());
    }

    static MooncakeSettings read(PluginOptions options, IgniteConfiguration ignite, long machineBytes) {
        return new SettingsReader(options, ignite, machineBytes).read();
    }

    private MooncakeSettings read() {
        String host = Objects.requireNonNullElseGet(
                options.host, () -> Objects.requireNonNullElse(ignite.getLocalHost(), ""));
        engineOptions(host);
        String secret = secret(host);
        Role role = role();
        List<NodeExtension> extensions = extensions();
        List<PoolDefinition> pools = pools(extensions);
        long dram = dram(role, pools);
        String policy = evictionPolicy();
        SsdPlace ssd =
                options.ssd == null ? null : SsdPlace.read(options.ssd, role, ignite.getWorkDirectory(), pools, wrong);
        range("leaseMillis", options.leaseMillis, 100, 60_000);
        range("fetchTimeoutMillis", options.fetchTimeoutMillis, 1, 600_000);
        range("heartbeatMillis", options.heartbeatMillis, 50, 2_000);
        range("mirrorRowBudget", options.mirrorRowBudget, 1_000, 100_000_000);
        range("stateRowBudget", options.stateRowBudget, 100, 1_000_000);
        range("replicas", options.replicas, 1, 8);
        range("drainOnStopTimeoutMillis", options.drainOnStopTimeoutMillis, 0, 3_600_000);
        if (!(options.warmUpShare >= 0 && options.warmUpShare <= 0.9)) {
            refuse("warmUpShare", options.warmUpShare, "0..0.9");
        }
        range("indexEntries", options.indexEntries, 1_024, PoolIndex.MAX_ENTRIES);
        range("indexTokens", options.indexTokens, 0, PoolIndex.MAX_TOKENS);
        range("metricsPort", options.metricsPort, 0, 65_535);
        String metricsHost = metricsHost();
        JobClasses jobClasses = jobClasses();
        List<String> operators = operators();
        long feedRing = feedRing();
        MemoryPlan plan = plan(dram, ssd == null ? 0 : ssd.heapBytes(), pools, feedRing, extensions);
        Path directory = sharedMemoryDirectory();
        if (!wrong.isEmpty()) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "Mooncake's configuration on node "
                            + Objects.requireNonNullElse(ignite.getIgniteInstanceName(), "default")
                            + " is refused (bean io.mooncake.ignite.MooncakePluginProvider): "
                            + String.join("; ", wrong));
        }
        return new MooncakeSettings(
                role,
                secret,
                dram,
                policy,
                ssd,
                Objects.requireNonNullElseGet(options.sharedMemory, this::sharesByProtocol) ? directory : null,
                options.sharedMemoryDirectory == null,
                pools,
                extensions,
                spi() == null ? EngineOptionsReader.config(options, host, secret, MAX_LEASE_MILLIS) : null,
                options.advertisedHost != null,
                Duration.ofMillis(options.leaseMillis),
                Duration.ofMillis(options.fetchTimeoutMillis),
                Duration.ofMillis(options.heartbeatMillis),
                options.mirrorRowBudget,
                options.stateRowBudget,
                options.replicas,
                Duration.ofMillis(options.drainOnStopTimeoutMillis),
                options.warmUpShare,
                options.indexEntries,
                options.indexTokens,
                feedRing,
                metricsHost,
                options.metricsPort,
                jobClasses,
                options.tenantResolver,
                operators,
                plan);
    }

    private void refuse(String name, Object value, String expected) {
        wrong.add(name + ": " + value + " (expected: " + expected + ")");
    }

    private void range(String name, long value, long min, long max) {
        if (value < min || value > max) {
            refuse(name, value, min + ".." + max);
        }
    }

    private @Nullable TransferCommunicationSpi spi() {
        return ignite.getCommunicationSpi() instanceof TransferCommunicationSpi spi ? spi : null;
    }

    /** The plugin's own engine, or nothing to say about the SPI's. */
    private void engineOptions(String host) {
        if (spi() == null) {
            wrong.addAll(EngineOptionsReader.violations(options, NAMES, host, ignite));
            return;
        }
        for (String name : EngineOptionsReader.changed(options)) {
            refuse(name, "set", "not set here but on TransferCommunicationSpi, which owns the engine of this node");
        }
    }

    /** Who uses shared memory also offers its own. */
    private boolean sharesByProtocol() {
        TransferCommunicationSpi spi = spi();
        TransferProtocol protocol = spi == null ? EngineOptionsReader.protocol(options) : spi.protocol();
        return protocol == TransferProtocol.AUTO || protocol == TransferProtocol.SHM;
    }

    private Path sharedMemoryDirectory() {
        String named = options.sharedMemoryDirectory;
        if (named == null) {
            return SharedFile.DEFAULT_FOLDER;
        }
        try {
            Path directory = Path.of(named);
            if (directory.isAbsolute() && Files.isDirectory(directory) && Files.isWritable(directory)) {
                return directory;
            }
        } catch (InvalidPathException e) {
            // As one that is not there.
        }
        refuse("sharedMemoryDirectory", named, "an absolute path of a directory that this process may write to");
        return SharedFile.DEFAULT_FOLDER;
    }

    /** One secret for plugin and SPI, whichever of the two beans names it. */
    private String secret(String host) {
        String own = options.secret;
        TransferCommunicationSpi spi = spi();
        if (spi != null) {
            if (spi.getTransferHost() == null && spi.getLocalAddress() == null) {
                spi.setTransferHost(host.isEmpty() ? OwnAddress.find() : host);
            }
            String shared = spiSecret(spi);
            if (own == null) {
                return shared;
            }
            if (!shared.isEmpty() && !shared.equals(own)) {
                refuse(
                        "secret",
                        own.length() + " characters",
                        "the same as TransferCommunicationSpi.secret, or not set");
            }
        }
        if (own == null || own.length() < MIN_SECRET || own.length() > MAX_SECRET) {
            // Never the value itself: the message goes to logs.
            refuse(
                    "secret",
                    own == null ? "not set" : own.length() + " characters",
                    MIN_SECRET + ".." + MAX_SECRET + " characters, the same on every node");
            return "";
        }
        return own;
    }

    private String spiSecret(TransferCommunicationSpi spi) {
        try {
            return spi.engineConfig(ignite).secret();
        } catch (MooncakeException first) {
            try {
                if (options.secret != null) {
                    spi.setSecret(options.secret);
                }
                return spi.engineConfig(ignite).secret();
            } catch (MooncakeException e) {
                wrong.add(String.valueOf(e.getMessage()));
                return "";
            }
        }
    }

    private Role role() {
        boolean client = Boolean.TRUE.equals(ignite.isClientMode());
        Role role = options.role == null ? (client ? Role.OBSERVER : Role.STORE) : options.role;
        if (client && role == Role.STORE) {
            refuse("role", role, "COMPUTE or OBSERVER on a client node");
        }
        return role;
    }

    private List<NodeExtension> extensions() {
        List<NodeExtension> found = new ArrayList<>();
        TreeSet<String> names = new TreeSet<>();
        if (options.extensions == null) {
            refuse("extensions", "null", "a list of beans");
            return found;
        }
        for (int i = 0; i < options.extensions.size(); i++) {
            NodeExtension extension = options.extensions.get(i);
            String place = "extensions[" + i + "]";
            if (extension == null) {
                refuse(place, "null", "a bean that implements NodeExtension");
                continue;
            }
            try {
                String name = extension.name();
                if (name == null || name.isBlank()) {
                    refuse(place + ".name", "empty", "a name");
                } else if (!names.add(name)) {
                    refuse(place + ".name", name, "a name that no other extension has");
                }
                extension.validate();
                found.add(extension);
            } catch (RuntimeException e) {
                wrong.add(place + ": " + describe(e));
            }
        }
        return found;
    }

    private List<PoolDefinition> pools(List<NodeExtension> extensions) {
        Map<String, PoolDefinition> found = new LinkedHashMap<>();
        if (options.pools == null) {
            refuse("pools", "null", "a list of beans");
        } else {
            for (int i = 0; i < options.pools.size(); i++) {
                PoolBean bean = options.pools.get(i);
                if (bean == null) {
                    refuse("pools[" + i + "]", "null", "a bean of class io.mooncake.ignite.PoolBean");
                    continue;
                }
                try {
                    add(found, bean.toDefinition(), "pools[" + i + "]");
                } catch (RuntimeException e) {
                    wrong.add("pools[" + i + "]." + describe(e));
                }
            }
        }
        for (NodeExtension extension : extensions) {
            try {
                for (PoolDefinition pool : extension.pools()) {
                    add(found, pool, "extension " + extension.name());
                }
            } catch (RuntimeException e) {
                wrong.add("pools of extension " + extension.name() + ": " + describe(e));
            }
        }
        return List.copyOf(found.values());
    }

    private void add(Map<String, PoolDefinition> found, PoolDefinition pool, String place) {
        PoolDefinition before = found.putIfAbsent(pool.name(), pool);
        if (before != null && !before.equals(pool)) {
            refuse(
                    place + ".name",
                    pool.name(),
                    "one identity a pool name; it differs by "
                            + String.join(
                                    ", ",
                                    IdentityText.differences(
                                            IdentityText.encode(before.identity()),
                                            IdentityText.encode(pool.identity()))));
        } else if (before != null && place.startsWith("pools[")) {
            refuse(place + ".name", pool.name(), "a name that no other pool has");
        }
    }

    private long dram(Role role, List<PoolDefinition> pools) {
        if (role == Role.OBSERVER) {
            if (options.dram != null) {
                refuse("dram", options.dram, "not set where role is OBSERVER, which holds nothing");
            }
            return 0;
        }
        if (options.dram == null) {
            if (pools.isEmpty() && role != Role.STORE) {
                return 0;
            }
            refuse("dram", "not set", "a size such as 8GiB where role is " + role);
            return 0;
        }
        long bytes;
        try {
            bytes = ByteSize.parse("dram", options.dram);
        } catch (MooncakeException e) {
            wrong.add(String.valueOf(e.getMessage()));
            return 0;
        }
        long least = 4096;
        for (PoolDefinition pool : pools) {
            least = Math.max(least, LocalKvPool.blockStrideBytes(pool.identity()) + 4096);
        }
        least *= Math.max(1, pools.size());
        if (bytes < least) {
            refuse(
                    "dram",
                    options.dram,
                    "at least " + least + " bytes, one block for each of " + pools.size() + " pools");
        } else if (bytes > machineBytes) {
            refuse(
                    "dram",
                    options.dram,
                    "less than the " + ByteSize.format(machineBytes) + " of this machine or container");
        }
        return bytes;
    }

    private long feedRing() {
        try {
            long bytes = ByteSize.parse("feedRing", String.valueOf(options.feedRing));
            if (bytes < MIN_FEED_RING || bytes > MAX_FEED_RING) {
                refuse("feedRing", String.valueOf(options.feedRing), "2MiB..16GiB");
            }
            return bytes;
        } catch (MooncakeException e) {
            wrong.add(String.valueOf(e.getMessage()));
            return MIN_FEED_RING;
        }
    }

    private String metricsHost() {
        String named = options.metricsHost;
        if (named == null || named.isBlank() || !EngineOptionsReader.ownAddress(named, true)) {
            refuse("metricsHost", named == null || named.isBlank() ? "empty" : named, "an address of this machine");
            return "";
        }
        return named;
    }

    private JobClasses jobClasses() {
        List<String> patterns = new ArrayList<>();
        String named = Objects.requireNonNullElse(options.jobClasses, "");
        for (String entry : named.isBlank() ? new String[0] : named.split(",", -1)) {
            if (entry.strip().startsWith(FILE)) {
                patterns.addAll(patternsOf(entry.strip().substring(FILE.length())));
            } else {
                patterns.add(entry.strip());
            }
        }
        try {
            return new JobClasses(patterns);
        } catch (MooncakeException e) {
            wrong.add(String.valueOf(e.getMessage()));
            return new JobClasses(List.of());
        }
    }

    /** A pattern a line; empty lines and those that begin with # say nothing. */
    private List<String> patternsOf(String file) {
        try {
            return Files.readAllLines(Path.of(file)).stream()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .toList();
        } catch (IOException | InvalidPathException e) {
            refuse("jobClasses", FILE + file, "a file that can be read, a pattern a line");
            return List.of();
        }
    }

    private List<String> operators() {
        List<String> named = options.operators;
        if (named == null || named.stream().anyMatch(login -> login == null || login.isBlank())) {
            refuse("operators", String.valueOf(named), "a list of logins, none of them empty");
            return List.of();
        }
        return named;
    }

    private String evictionPolicy() {
        String named = options.evictionPolicy;
        if (named == null || !Policies.names().contains(named)) {
            refuse("evictionPolicy", String.valueOf(named), "one of " + String.join(", ", Policies.names()));
            return LocalKvPool.DEFAULT_POLICY;
        }
        return named;
    }

    private MemoryPlan plan(
            long dram, long ssdHeap, List<PoolDefinition> pools, long feedRing, List<NodeExtension> extensions) {
        long demand = 0;
        for (NodeExtension extension : extensions) {
            demand += Math.max(0, extension.offHeapBytes());
        }
        // A node without pools looks for the blocks of others all the same.
        long index = Math.max(1, pools.size()) * PoolIndex.bytes(Math.max(1, options.indexEntries));
        for (PoolDefinition pool : pools) {
            if (dram > 0 && pool.identity().mode() == ReuseMode.FAST) {
                index += PoolIndex.tokenBytes(pool.identity().blockTokens(), Math.max(0, options.indexTokens));
            }
        }
        MemoryPlan plan = MemoryPlan.of(
                ignite,
                new MemoryPlan.OwnParts(dram, ssdHeap, index, pools.isEmpty() ? 0 : feedRing, demand),
                machineBytes);
        if (!plan.fits() && dram <= machineBytes) {
            refuse(
                    "memory plan",
                    plan,
                    "a sum within the machine or container; lower dram, indexEntries, indexTokens, -Xmx or the regions' maxSize");
        }
        return plan;
    }

    private static String describe(RuntimeException e) {
        return e instanceof MooncakeException ? String.valueOf(e.getMessage()) : e.toString();
    }
}
