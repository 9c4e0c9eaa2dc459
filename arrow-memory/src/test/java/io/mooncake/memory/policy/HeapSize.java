// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;

/** Objects and array elements that hang on an object of this package, about. */
final class HeapSize {
    private HeapSize() {}

    static long of(Object root) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> open = new ArrayDeque<>();
        open.add(root);
        seen.add(root);
        long size = 0;
        while (!open.isEmpty()) {
            Object one = open.pop();
            size++;
            if (one.getClass().isArray()) {
                size += Array.getLength(one);
                if (one instanceof Object[] array) {
                    for (Object element : array) {
                        add(element, seen, open);
                    }
                }
                continue;
            }
            for (Class<?> type = one.getClass();
                    type != null && type.getName().startsWith("io.mooncake");
                    type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())
                            && !field.getType().isPrimitive()) {
                        field.setAccessible(true);
                        try {
                            add(field.get(one), seen, open);
                        } catch (IllegalAccessException e) {
                            throw new AssertionError(e);
                        }
                    }
                }
            }
        }
        return size;
    }

    private static void add(Object object, Set<Object> seen, Deque<Object> open) {
        if (object != null && seen.add(object)) {
            open.push(object);
        }
    }
}
