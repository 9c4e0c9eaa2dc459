// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import io.mooncake.base.MooncakeException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where metadata is kept: {@code SCHEME} or {@code SCHEME://[USER[:PASSWORD]@]PLACE}. Credentials are never printed.
 *
 * @param scheme lower case; names the provider
 * @param user empty when none
 * @param password empty when none
 * @param place what the provider makes of it: addresses, a name; empty when none
 */
public record MetadataServer(String scheme, String user, String password, String place) {
    private static final Pattern FORM =
            Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*)(?:://(?:([^:@/]*)(?::([^@]*))?@)?([^@\\s]*))?");

    /**
     * Parses the text form.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is none
     */
    public static MetadataServer parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            // The text may hold a password, so it is not shown.
            throw MooncakeException.invalid(
                    "metadataServer",
                    text.length() + " characters of another form",
                    "SCHEME or SCHEME://[USER[:PASSWORD]@]PLACE");
        }
        return new MetadataServer(
                matcher.group(1).toLowerCase(Locale.ROOT), group(matcher, 2), group(matcher, 3), group(matcher, 4));
    }

    private static String group(Matcher matcher, int index) {
        String found = matcher.group(index);
        return found == null ? "" : found;
    }

    @Override
    public String toString() {
        return scheme + (place.isEmpty() ? "" : "://" + (user.isEmpty() ? "" : user + "@") + place);
    }
}
