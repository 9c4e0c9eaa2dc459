// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.util.StringJoiner;
import org.apache.ignite.spi.systemview.view.SystemViewRowAttributeWalker.AttributeWithValueVisitor;
import org.jspecify.annotations.Nullable;

/** A row of a system view as one line: {@code name=value} parted by spaces. */
final class RowText implements AttributeWithValueVisitor {
    private final StringJoiner line = new StringJoiner(" ");

    private void add(String name, @Nullable Object value) {
        line.add(name + "=" + value);
    }

    @Override
    public <T> void accept(int index, String name, Class<T> type, @Nullable T value) {
        add(name, value);
    }

    @Override
    public void acceptBoolean(int index, String name, boolean value) {
        add(name, value);
    }

    @Override
    public void acceptChar(int index, String name, char value) {
        add(name, value);
    }

    @Override
    public void acceptByte(int index, String name, byte value) {
        add(name, value);
    }

    @Override
    public void acceptShort(int index, String name, short value) {
        add(name, value);
    }

    @Override
    public void acceptInt(int index, String name, int value) {
        add(name, value);
    }

    @Override
    public void acceptLong(int index, String name, long value) {
        add(name, value);
    }

    @Override
    public void acceptFloat(int index, String name, float value) {
        add(name, value);
    }

    @Override
    public void acceptDouble(int index, String name, double value) {
        add(name, value);
    }

    @Override
    public String toString() {
        return line.toString();
    }
}
