// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * One version of one record.
 *
 * @param key {@code [A-Za-z0-9._-]} in segments parted by {@code /}, 1..200 characters
 * @param owner its only writer
 * @param version counts the owner's writes; of two versions of a record the higher is the later
 * @param value 0..16 KiB; shared, not to be changed
 */
public record MetadataRecord(String key, UUID owner, long version, byte[] value) {
    /** By key, then owner. */
    public static final Comparator<MetadataRecord> ORDER =
            Comparator.comparing(MetadataRecord::key).thenComparing(MetadataRecord::owner);

    /** Longest key. */
    public static final int MAX_KEY_LENGTH = 200;

    private static final Pattern KEY = Pattern.compile("[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*");

    public MetadataRecord {
        requireKey(key);
        if (value.length > MetadataStore.MAX_VALUE_BYTES) {
            throw MooncakeException.invalid(
                    "value of " + key, value.length + " bytes", "0.." + MetadataStore.MAX_VALUE_BYTES);
        }
    }

    /** Refuses what is no key. */
    public static void requireKey(String key) {
        if (key.length() > MAX_KEY_LENGTH || !KEY.matcher(key).matches()) {
            throw MooncakeException.invalid(
                    "key",
                    key.length() > MAX_KEY_LENGTH ? key.length() + " characters" : key,
                    "1..200 characters: segments of A-Z a-z 0-9 . _ - parted by /");
        }
    }

    /** Whether {@code other} is of the same key and owner. */
    public boolean sameAs(MetadataRecord other) {
        return key.equals(other.key) && owner.equals(other.owner);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MetadataRecord that
                && key.equals(that.key)
                && owner.equals(that.owner)
                && version == that.version
                && Arrays.equals(value, that.value);
    }

    @Override
    public int hashCode() {
        return Objects.hash(key, owner, version);
    }

    @Override
    public String toString() {
        return "MetadataRecord[" + key + " of " + owner + ", version " + version + ", " + value.length + " bytes]";
    }
}
