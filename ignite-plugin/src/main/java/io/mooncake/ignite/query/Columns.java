// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import org.apache.ignite.spi.systemview.view.SystemViewRowAttributeWalker;

/**
 * The columns of a system view, in order, and how each is read from a row. Columns are made once and not changed after.
 *
 * @param <R> a row
 */
final class Columns<R> implements SystemViewRowAttributeWalker<R> {
    private final List<Column<R>> columns = new ArrayList<>();
    private final List<String> filterable;

    private interface Value<R> {
        void show(int index, R row, AttributeWithValueVisitor visitor);
    }

    private record Column<R>(String name, Class<?> type, Value<R> value) {}

    /** @param filterable columns that the view's rows can be asked by: at least one, or Ignite's H2 engine does not make the view */
    Columns(String... filterable) {
        this.filterable = List.copyOf(Arrays.asList(filterable));
    }

    Columns<R> text(String name, Function<R, String> value) {
        return add(name, String.class, (i, row, visitor) -> visitor.accept(i, name, String.class, value.apply(row)));
    }

    Columns<R> count(String name, ToIntFunction<R> value) {
        return add(name, int.class, (i, row, visitor) -> visitor.acceptInt(i, name, value.applyAsInt(row)));
    }

    Columns<R> number(String name, ToLongFunction<R> value) {
        return add(name, long.class, (i, row, visitor) -> visitor.acceptLong(i, name, value.applyAsLong(row)));
    }

    Columns<R> decimal(String name, ToDoubleFunction<R> value) {
        return add(name, double.class, (i, row, visitor) -> visitor.acceptDouble(i, name, value.applyAsDouble(row)));
    }

    Columns<R> flag(String name, Predicate<R> value) {
        return add(name, boolean.class, (i, row, visitor) -> visitor.acceptBoolean(i, name, value.test(row)));
    }

    private Columns<R> add(String name, Class<?> type, Value<R> value) {
        columns.add(new Column<>(name, type, value));
        return this;
    }

    @Override
    public int count() {
        return columns.size();
    }

    @Override
    public List<String> filtrableAttributes() {
        return filterable;
    }

    @Override
    public void visitAll(AttributeVisitor visitor) {
        for (int i = 0; i < columns.size(); i++) {
            visitor.accept(i, columns.get(i).name(), columns.get(i).type());
        }
    }

    @Override
    public void visitAll(R row, AttributeWithValueVisitor visitor) {
        for (int i = 0; i < columns.size(); i++) {
            columns.get(i).value().show(i, row, visitor);
        }
    }
}
