// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.security;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The classes that may be in a job, in its answer and in its failure: values of the JDK, this product's, every exception of JDK and Ignite, and
 * what the option {@code jobClasses} names. Asked by name before a class is loaded.
 *
 * <p>Immutable. Threading: safe for all threads.
 */
public final class JobClasses {
    /** This product's and the JDK's values. No class of these does anything when it is read but be there, as long as it holds such classes only. */
    private static final List<String> ALWAYS = List.of(
            "io.mooncake.**",
            "java.lang.*",
            "java.lang.invoke.SerializedLambda",
            "java.math.*",
            "java.net.URI",
            "java.net.InetAddress",
            "java.net.Inet4Address",
            "java.net.Inet6Address",
            "java.net.InetSocketAddress",
            "java.net.SocketAddress",
            "java.time.**",
            "java.util.*",
            "java.util.concurrent.**",
            "java.util.regex.Pattern",
            "org.apache.ignite.lang.IgniteUuid");

    /** Exceptions of these travel whatever their names are. */
    private static final List<String> THROWING = List.of("java.", "javax.cache.", "org.apache.ignite.");

    private static final Pattern NAME =
            Pattern.compile("[\\p{L}_$][\\p{L}\\p{N}_$]*(\\.[\\p{L}_$][\\p{L}\\p{N}_$]*)*(\\.\\*{1,2})?|\\*\\*");

    private final List<String> patterns;

    /**
     * @param patterns {@code a.b.C} with its nested classes, {@code a.b.*} for a package, {@code a.b.**} with those below, {@code **} for all
     * @throws MooncakeException INVALID_ARGUMENT for what is none of these
     */
    public JobClasses(List<String> patterns) {
        List<String> all = new ArrayList<>(ALWAYS);
        for (String pattern : patterns) {
            if (!NAME.matcher(pattern).matches()) {
                throw MooncakeException.invalid(
                        "jobClasses", pattern, "com.acme.Job, com.acme.*, com.acme.** or **, separated by commas");
            }
            all.add(pattern);
        }
        this.patterns = List.copyOf(all);
    }

    /** Whether the class of that name may be read; of an array, its elements' class. */
    public boolean allows(String name) {
        String element = name;
        if (name.startsWith("[")) {
            element = name.replaceFirst("^\\[+L?", "").replaceFirst(";$", "");
            if (element.length() == 1) {
                return true;
            }
        }
        for (String pattern : patterns) {
            if (matches(pattern, element)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the class of that name may be read if it is the exception that its name says. */
    public boolean allowsThrowable(String name) {
        return (name.endsWith("Exception") || name.endsWith("Error"))
                && THROWING.stream().anyMatch(name::startsWith);
    }

    private static boolean matches(String pattern, String name) {
        if (pattern.equals("**")) {
            return true;
        }
        if (pattern.endsWith(".**")) {
            return name.startsWith(pattern.substring(0, pattern.length() - 2));
        }
        if (pattern.endsWith(".*")) {
            String folder = pattern.substring(0, pattern.length() - 1);
            return name.startsWith(folder) && name.indexOf('.', folder.length()) < 0;
        }
        return name.equals(pattern) || name.startsWith(pattern + "$");
    }

    /** What is refused of {@code name}. */
    MooncakeException refusal(String name) {
        return new MooncakeException(
                MooncakeException.Code.DENIED,
                "job class: " + name + " (expected: one that the option jobClasses of this node names, such as "
                        + name.replaceFirst("\\.[^.]*$", ".*") + ")");
    }
}
