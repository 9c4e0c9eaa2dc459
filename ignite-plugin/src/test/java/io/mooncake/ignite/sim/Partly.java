// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/** A wide interface of which the simulation has a part: the public methods of an object that have its names and parameters. */
public final class Partly {
    private Partly() {}

    /** {@code part} as a {@code type}; what it lacks runs by the interface's default, or is refused. */
    public static <T> T of(Class<T> type, Object part) {
        Map<Method, Method> known = new HashMap<>();
        InvocationHandler handler = (proxy, asked, arguments) -> {
            Method method = known.computeIfAbsent(asked, one -> find(part, one));
            if (method.getDeclaringClass().isInterface() && method.equals(asked)) {
                if (asked.isDefault()) {
                    return InvocationHandler.invokeDefault(proxy, asked, arguments);
                }
                throw new UnsupportedOperationException(asked.toString());
            }
            try {
                return method.invoke(part, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Method find(Object part, Method asked) {
        if (asked.getDeclaringClass() == Object.class) {
            return asked;
        }
        try {
            Method method = part.getClass().getMethod(asked.getName(), asked.getParameterTypes());
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException e) {
            return asked;
        }
    }
}
