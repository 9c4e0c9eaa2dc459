// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.security;

import io.mooncake.base.MooncakeException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InvalidClassException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputFilter.FilterInfo;
import java.io.ObjectInputFilter.Status;
import java.io.ObjectInputStream;
import java.io.ObjectStreamClass;

/**
 * Reads one object by Java's rules, of listed classes only, and no more of them than the bytes can hold: an array that claims more elements
 * than there are bytes, or objects within objects without end, are refused before anything is allocated for them.
 *
 * <p>Threading: for one thread. Nothing of a class that is not listed runs, it is not even loaded.
 */
public final class JobReader extends ObjectInputStream {
    private static final int MAX_DEPTH = 200;

    private final JobClasses classes;
    private final Loader loader;

    /** Finds classes by name, without running anything of them. */
    @FunctionalInterface
    public interface Loader {
        /** @throws ClassNotFoundException when there is none, or Ignite's own filter refuses it */
        Class<?> load(String name) throws ClassNotFoundException;
    }

    private JobReader(byte[] bytes, JobClasses classes, Loader loader) throws IOException {
        super(new ByteArrayInputStream(bytes));
        this.classes = classes;
        this.loader = loader;
        enableResolveObject(true);
        ObjectInputFilter ofProcess = ObjectInputFilter.Config.getSerialFilter();
        ObjectInputFilter bounds = info -> check(info, bytes.length);
        setObjectInputFilter(ofProcess == null ? bounds : ObjectInputFilter.merge(bounds, ofProcess));
    }

    /**
     * The object in {@code bytes}.
     *
     * @throws MooncakeException DENIED for a class that is not listed, naming it
     * @throws IOException when the bytes are no object, or break a bound
     */
    public static Object read(byte[] bytes, JobClasses classes, Loader loader)
            throws IOException, ClassNotFoundException {
        try (JobReader reader = new JobReader(bytes, classes, loader)) {
            return reader.readObject();
        }
    }

    private static Status check(FilterInfo info, int bytes) {
        // An element takes a byte at least, a primitive as many as it has.
        boolean fits = info.depth() <= MAX_DEPTH
                && info.references() <= bytes
                && (info.arrayLength() < 0 || info.arrayLength() * width(info.serialClass()) <= bytes);
        return fits ? Status.UNDECIDED : Status.REJECTED;
    }

    private static long width(Class<?> array) {
        Class<?> element = array == null ? null : array.getComponentType();
        if (element == long.class || element == double.class) {
            return 8;
        }
        if (element == int.class || element == float.class) {
            return 4;
        }
        return element == short.class || element == char.class ? 2 : 1;
    }

    @Override
    protected Class<?> resolveClass(ObjectStreamClass described) throws IOException, ClassNotFoundException {
        String name = described.getName();
        if (classes.allows(name)) {
            return loader.load(name);
        }
        if (classes.allowsThrowable(name)) {
            Class<?> found = loader.load(name);
            if (Throwable.class.isAssignableFrom(found)) {
                return found;
            }
        }
        throw classes.refusal(name);
    }

    @Override
    protected Class<?> resolveProxyClass(String[] interfaces) throws IOException {
        throw new InvalidClassException("a dynamic proxy of " + String.join(", ", interfaces) + " (expected: none)");
    }
}
