// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Rows made one at a time as a query takes them. */
final class LazyRows {
    private LazyRows() {}

    /** A row for each of {@code source} that {@code wanted} accepts. */
    static <S, R> Iterable<R> of(Iterable<S> source, Predicate<S> wanted, Function<S, R> row) {
        return () -> new Iterator<>() {
            private final Iterator<S> from = source.iterator();
            private @Nullable S next;

            @Override
            public boolean hasNext() {
                while (next == null && from.hasNext()) {
                    S candidate = from.next();
                    next = wanted.test(candidate) ? candidate : null;
                }
                return next != null;
            }

            @Override
            public R next() {
                S found = hasNext() ? next : null;
                if (found == null) {
                    throw new NoSuchElementException();
                }
                next = null;
                return row.apply(found);
            }
        };
    }

    /** The rows of all {@code parts}, one part after the other. */
    static <R> Iterable<R> chained(List<Iterable<R>> parts) {
        return () -> new Iterator<>() {
            private final Iterator<Iterable<R>> left = parts.iterator();
            private Iterator<R> current = Collections.emptyIterator();

            @Override
            public boolean hasNext() {
                while (!current.hasNext() && left.hasNext()) {
                    current = left.next().iterator();
                }
                return current.hasNext();
            }

            @Override
            public R next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return current.next();
            }
        };
    }

    /** Whether {@code value} is what a filter asks for; a filter without the column takes all. */
    static boolean matches(@Nullable Object wanted, Object value) {
        return wanted == null || wanted.toString().equals(value.toString());
    }
}
