// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.policy.Policies;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The names of the options, and what somebody probably meant by another one. */
public final class ConfigurationNames {
    /** Every option of the plugin bean; docs/configuration.md shows the same. */
    public static final List<Option> OPTIONS = List.of(
            new Option("secret", "text", "none, required", "16..256 characters", false),
            new Option("role", "role", "STORE, on clients OBSERVER", "STORE, COMPUTE, OBSERVER", false),
            new Option("dram", "size", "none, required unless OBSERVER", "one block a pool .. free memory", false),
            new Option(
                    "evictionPolicy", "policy", LocalKvPool.DEFAULT_POLICY, String.join(", ", Policies.names()), false),
            new Option("ssd", "bean", "none", "none, or a bean io.mooncake.ignite.SsdTier", false),
            new Option("sharedMemory", "switch", "true where transferProtocol is auto or shm", "true, false", false),
            new Option("sharedMemoryDirectory", "directory", "/dev/shm", "in a memory file system", false),
            new Option("extensions", "beans", "empty", "distinct names", false),
            new Option("pools", "beans", "empty", "distinct names", false),
            new Option("host", "address", "Ignite's localHost", "an address of this machine", false),
            new Option("portFrom", "port", "47700", "1..65535", false),
            new Option("portTo", "port", "47899", "portFrom+2..65535", false),
            new Option("advertisedHost", "address", "by Ignite's AddressResolver, else host", "address or name", false),
            new Option("transferProtocol", "protocol", "auto", "auto, tcp, shm, rdma", false),
            new Option("connectionsPerPeer", "connections", "2", "1..64", false),
            new Option("rails", "addresses", "empty", "0..7 addresses of this machine", false),
            new Option(
                    "rdmaDevice",
                    "devices",
                    "active ones that memory prefers",
                    "up to 8 names, separated by commas",
                    false),
            new Option("rdmaPort", "port of the device", "1", "1..255", false),
            new Option("rdmaGidIndex", "index", "-1", "-1..255", false),
            new Option("tlsKeyStore", "file", "none", "PKCS 12 file with a key", false),
            new Option("tlsKeyStorePassword", "text", "none", "what opens it", false),
            new Option("tlsTrustStore", "file", "none", "PKCS 12 file with certificates", false),
            new Option("tlsTrustStorePassword", "text", "none", "what opens it", false),
            new Option("leaseMillis", "ms", "10000", "100..60000", false),
            new Option("fetchTimeoutMillis", "ms", "2000", "1..600000", false),
            new Option("heartbeatMillis", "ms", "1000", "50..2000", false),
            new Option("mirrorRowBudget", "rows", "100000", "1000..100000000", false),
            new Option("stateRowBudget", "rows", "10000", "100..1000000", false),
            new Option("replicas", "copies", "1", "1..8", false),
            new Option("drainOnStopTimeoutMillis", "ms", "5000", "0..3600000", false),
            new Option("warmUpShare", "share of the blocks", "0.0", "0..0.9", false),
            new Option("indexEntries", "blocks a pool", "4194304", "1024..67108862", false),
            new Option("indexTokens", "tokens a pool", "16777216", "0..1073741824", false),
            new Option("feedRing", "size", "16MiB", "2MiB..16GiB", false),
            new Option("metricsHost", "address", "127.0.0.1", "an address of this machine", false),
            new Option("metricsPort", "port", "0", "0 (off), 1..65535", false),
            new Option(
                    "jobClasses", "patterns", "empty", "a.b.C, a.b.*, a.b.**, file:PATH, separated by commas", false),
            new Option("tenantResolver", "bean", "none", "none, or a bean that implements TenantResolver", false),
            new Option("operators", "logins", "ignite", "logins of Ignite's users", false));

    private static final Pattern UNKNOWN_PROPERTY =
            Pattern.compile("[Ii]nvalid property '(\\w+)' of bean class \\[([\\w.$]+)]");
    private static final Pattern WRONG_TYPE = Pattern.compile(
            "Failed to convert (?:property )?value of type '?\\[?[\\w.$]+]?'? to required type '?\\[?([\\w.$]+)]?'? for property '([\\w.\\[\\]]+)'");

    private ConfigurationNames() {}

    /** The option that {@code name} is probably a misspelling of. */
    public static Optional<String> nearest(String name) {
        return nearest(name, OPTIONS.stream().map(Option::name).toList());
    }

    /** The one of {@code valid} that {@code name} is probably a misspelling of: at most a third of its letters wrong. */
    public static Optional<String> nearest(String name, Collection<String> valid) {
        String wanted = name.toLowerCase(Locale.ROOT);
        String best = null;
        int bestDistance = Integer.MAX_VALUE;
        for (String candidate : new TreeSet<>(valid)) {
            String low = candidate.toLowerCase(Locale.ROOT);
            int distance = distance(wanted, low);
            if (low.startsWith(wanted) || wanted.startsWith(low)) {
                distance = Math.min(distance, 1);
            }
            if (distance < bestDistance) {
                bestDistance = distance;
                best = candidate;
            }
        }
        return best != null && bestDistance <= Math.max(1, Math.max(name.length(), best.length()) / 3)
                ? Optional.of(best)
                : Optional.empty();
    }

    /** The properties that Spring XML can set on {@code bean}. */
    public static List<String> properties(Class<?> bean) {
        TreeSet<String> names = new TreeSet<>();
        for (Method method : bean.getMethods()) {
            String name = method.getName();
            if (name.startsWith("set") && name.length() > 3 && method.getParameterCount() == 1) {
                names.add(Character.toLowerCase(name.charAt(3)) + name.substring(4));
            }
        }
        return List.copyOf(names);
    }

    /**
     * Puts what Spring says about a wrong property into this product's words: {@code drma: unknown property of ... (nearest: dram)}.
     * Understands Spring's messages only, so that this class needs no Spring.
     *
     * @return empty when no cause of {@code error} is about a property
     */
    public static Optional<String> explain(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            Matcher unknown = UNKNOWN_PROPERTY.matcher(message);
            if (unknown.find() && message.contains("not writable")) {
                return Optional.of(unknownProperty(
                        unknown.group(1), unknown.group(2), cause.getClass().getClassLoader()));
            }
            Matcher wrong = WRONG_TYPE.matcher(message);
            if (wrong.find()) {
                return Optional.of(wrongType(wrong.group(2), wrong.group(1), cause));
            }
        }
        return Optional.empty();
    }

    /** Spring's exception knows the value; it is asked by name, so that this class loads without Spring. */
    private static String wrongType(String property, String typeName, Throwable cause) {
        Object value = "a value";
        String expected = typeName;
        try {
            Throwable mismatch = cause;
            while (mismatch.getCause() != null
                    && !mismatch.getClass().getSimpleName().matches("TypeMismatch.*|ConversionNotSupported.*")) {
                mismatch = mismatch.getCause();
            }
            value = mismatch.getClass().getMethod("getValue").invoke(mismatch);
            Object[] constants = Class.forName(
                            typeName, false, mismatch.getClass().getClassLoader())
                    .getEnumConstants();
            if (constants != null) {
                List<String> names = Stream.of(constants).map(String::valueOf).toList();
                expected = "one of " + names
                        + nearest(String.valueOf(value), names)
                                .map(near -> ", nearest: " + near)
                                .orElse("");
            }
        } catch (ReflectiveOperationException e) {
            // A primitive type, or another Spring: the message goes without the hint.
        }
        return property + ": " + value + " (expected: " + expected + ")";
    }

    private static String unknownProperty(String name, String beanName, @Nullable ClassLoader loader) {
        String hint = "";
        try {
            List<String> valid = properties(Class.forName(beanName, false, loader));
            hint = nearest(name, valid)
                    .map(near -> " (nearest: " + near + ")")
                    .orElse(" (expected: one of " + valid + ")");
        } catch (ClassNotFoundException e) {
            // The bean's class loads elsewhere only: the message goes without a hint.
        }
        return name + ": unknown property of " + beanName + hint;
    }

    /** Edit distance with swapped neighbours counted once. */
    private static int distance(String left, String right) {
        int[][] cost = new int[left.length() + 1][right.length() + 1];
        for (int i = 0; i <= left.length(); i++) {
            for (int j = 0; j <= right.length(); j++) {
                if (i == 0 || j == 0) {
                    cost[i][j] = i + j;
                    continue;
                }
                int change = left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1;
                int least = Math.min(cost[i - 1][j - 1] + change, Math.min(cost[i - 1][j], cost[i][j - 1]) + 1);
                if (i > 1
                        && j > 1
                        && left.charAt(i - 1) == right.charAt(j - 2)
                        && left.charAt(i - 2) == right.charAt(j - 1)) {
                    least = Math.min(least, cost[i - 2][j - 2] + 1);
                }
                cost[i][j] = least;
            }
        }
        return cost[left.length()][right.length()];
    }
}
