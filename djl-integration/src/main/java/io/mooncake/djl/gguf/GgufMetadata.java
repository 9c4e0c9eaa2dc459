// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.gguf;

import io.mooncake.base.MooncakeException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The key-value part of a GGUF file, read by type. {@code require} methods refuse the model where the key is missing; all methods
 * refuse it where the value has another type or range, and name key, value and expectation.
 *
 * <p>Immutable and safe for all threads; arrays are handed out as they are held and must not be written to.
 */
public final class GgufMetadata {
    private final Path path;
    private final Map<String, Object> values;

    /** Values are Long (all integers), Float, Double, Boolean, String, List of String, int[], long[], float[] or boolean[]. */
    GgufMetadata(Path path, Map<String, Object> values) {
        this.path = path;
        this.values = Collections.unmodifiableMap(values);
    }

    /** All keys, in the order of the file. */
    public Set<String> keys() {
        return values.keySet();
    }

    /** Whether the file holds that key. */
    public boolean contains(String key) {
        return values.containsKey(key);
    }

    /** A string that must be there. */
    public String requireString(String key) {
        return cast(key, require(key, "a string"), String.class, "a string");
    }

    /** A string, empty where the key is missing. */
    public Optional<String> findString(String key) {
        Object value = values.get(key);
        return value == null ? Optional.empty() : Optional.of(cast(key, value, String.class, "a string"));
    }

    /** A non-negative integer that must be there. */
    public int requireInt(String key) {
        return toInt(key, require(key, "an integer"));
    }

    /** A non-negative integer, or {@code fallback} where the key is missing. */
    public int intOr(String key, int fallback) {
        Object value = values.get(key);
        return value == null ? fallback : toInt(key, value);
    }

    /** A finite number that must be there. */
    public float requireFloat(String key) {
        return toFloat(key, require(key, "a number"));
    }

    /** A finite number, or {@code fallback} where the key is missing. */
    public float floatOr(String key, float fallback) {
        Object value = values.get(key);
        return value == null ? fallback : toFloat(key, value);
    }

    /** A truth value, or {@code fallback} where the key is missing. */
    public boolean booleanOr(String key, boolean fallback) {
        Object value = values.get(key);
        return value == null ? fallback : cast(key, value, Boolean.class, "a bool");
    }

    /** An array of strings that must be there. */
    @SuppressWarnings("unchecked") // the reader makes no other lists
    public List<String> requireStrings(String key) {
        return (List<String>) cast(key, require(key, "an array of strings"), List.class, "an array of strings");
    }

    /** An array of integers of at most 32 bits, empty where the key is missing. */
    public Optional<int[]> findInts(String key) {
        Object value = values.get(key);
        return value == null ? Optional.empty() : Optional.of(cast(key, value, int[].class, "an array of int32"));
    }

    /** An array of 32-bit floats, empty where the key is missing. */
    public Optional<float[]> findFloats(String key) {
        Object value = values.get(key);
        return value == null ? Optional.empty() : Optional.of(cast(key, value, float[].class, "an array of float32"));
    }

    /** The refusal of this file because of {@code key}; for checks that the caller makes on top of the types. */
    public MooncakeException refused(String key, String expected) {
        return GgufErrors.refused(path, "metadata " + key, show(values.get(key)), expected);
    }

    private Object require(String key, String expected) {
        Object value = values.get(key);
        if (value == null) {
            throw refused(key, expected);
        }
        return value;
    }

    private <T> T cast(String key, Object value, Class<T> type, String expected) {
        if (!type.isInstance(value)) {
            throw refused(key, expected);
        }
        return type.cast(value);
    }

    private int toInt(String key, Object value) {
        long number = cast(key, value, Long.class, "an integer 0.." + Integer.MAX_VALUE);
        if (number < 0 || number > Integer.MAX_VALUE) {
            throw refused(key, "an integer 0.." + Integer.MAX_VALUE);
        }
        return (int) number;
    }

    private float toFloat(String key, Object value) {
        float number = cast(key, value, Number.class, "a finite number").floatValue();
        if (!Float.isFinite(number)) {
            throw refused(key, "a finite number");
        }
        return number;
    }

    private static String show(@Nullable Object value) {
        if (value == null) {
            return "missing";
        }
        if (value instanceof String text) {
            return GgufErrors.quote(text);
        }
        if (value instanceof List<?> list) {
            return "an array of " + list.size() + " strings";
        }
        return value.getClass().isArray() ? "a " + value.getClass().getSimpleName() : value.toString();
    }
}
