// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.security;

import java.net.URL;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Ignite's REST module: below 2.18.0 its log command reads any file of the node (CVE-2025-48977). We bring none; a user's class path may. */
public final class RestModule {
    /** Its main class, as a resource. */
    public static final String CLASS =
            "/org/apache/ignite/internal/processors/rest/protocols/http/jetty/GridJettyRestProtocol.class";

    private static final String FIXED_IN = "2.18.0";
    private static final Pattern JAR = Pattern.compile("ignite-rest-http-(\\d+)\\.(\\d+)[^/]*\\.jar");

    private RestModule() {}

    /**
     * What is wrong with it.
     *
     * @param found where a class path has its main class; null when it has none
     * @return empty when there is none, or one that is mended
     */
    public static Optional<String> risk(@Nullable URL found) {
        if (found == null) {
            return Optional.empty();
        }
        Matcher jar = JAR.matcher(found.toString());
        if (!jar.find()) {
            return Optional.of("of unknown version: " + text());
        }
        int major = Integer.parseInt(jar.group(1));
        boolean mended = major > 2 || (major == 2 && Integer.parseInt(jar.group(2)) >= 18);
        return mended ? Optional.empty() : Optional.of(jar.group() + ": " + text());
    }

    private static String text() {
        return "its log command reads any file before " + FIXED_IN
                + " (CVE-2025-48977); take ignite-rest-http off the class path";
    }
}
