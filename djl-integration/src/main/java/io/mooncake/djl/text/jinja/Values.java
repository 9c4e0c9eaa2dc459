// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What values are and do: MarkedText, Long, Double, Boolean, List, Map with String keys, {@link Nothing} and {@link Callable}, with
 * Python's rules.
 */
final class Values {
    private Values() {}

    static boolean truthy(Object value) {
        if (value instanceof MarkedText text) {
            return !text.text().isEmpty();
        }
        if (value instanceof Boolean bool) {
            return bool;
        }
        if (value instanceof Number number) {
            return number.doubleValue() != 0;
        }
        if (value instanceof List<?> list) {
            return !list.isEmpty();
        }
        if (value instanceof Map<?, ?> map) {
            return !map.isEmpty();
        }
        return !(value instanceof Nothing);
    }

    static boolean equal(Object a, Object b) {
        if (a instanceof Number x && b instanceof Number y) {
            return x.doubleValue() == y.doubleValue();
        }
        return a.equals(b);
    }

    static int compare(Object a, Object b) {
        if (a instanceof Number x && b instanceof Number y) {
            return Double.compare(x.doubleValue(), y.doubleValue());
        }
        if (a instanceof MarkedText x && b instanceof MarkedText y) {
            return x.text().compareTo(y.text());
        }
        throw new JinjaException("comparison of " + kind(a) + " and " + kind(b));
    }

    static boolean contains(Object container, Object item) {
        if (container instanceof MarkedText text) {
            return text.text().contains(text(item).text());
        }
        if (container instanceof List<?> list) {
            return list.stream().anyMatch(element -> equal(element, item));
        }
        if (container instanceof Map<?, ?> map) {
            return map.containsKey(text(item).text());
        }
        throw new JinjaException("'in' with " + kind(container) + " (expected: a string, list or mapping)");
    }

    static Object arithmetic(String sign, Object a, Object b) {
        if (sign.equals("+") && a instanceof MarkedText x && b instanceof MarkedText y) {
            Scope.checkLength((long) x.text().length() + y.text().length());
            return x.plus(y);
        }
        if (sign.equals("+") && a instanceof List<?> x && b instanceof List<?> y) {
            Scope.checkLength((long) x.size() + y.size());
            List<Object> out = new ArrayList<>(x);
            out.addAll(y);
            return out;
        }
        if (a instanceof Long x && b instanceof Long y && !sign.equals("/")) {
            return integer(sign, x, y);
        }
        if (a instanceof Number x && b instanceof Number y) {
            return real(sign, x.doubleValue(), y.doubleValue());
        }
        throw new JinjaException("'" + sign + "' of " + kind(a) + " and " + kind(b));
    }

    private static long integer(String sign, long x, long y) {
        if (y == 0 && (sign.equals("//") || sign.equals("%"))) {
            throw new JinjaException("division by zero");
        }
        return switch (sign) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            case "//" -> Math.floorDiv(x, y);
            case "%" -> Math.floorMod(x, y);
            default -> throw new JinjaException("operator " + sign);
        };
    }

    private static double real(String sign, double x, double y) {
        return switch (sign) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            case "/" -> x / y;
            case "//" -> Math.floor(x / y);
            case "%" -> x - y * Math.floor(x / y);
            default -> throw new JinjaException("operator " + sign);
        };
    }

    /** The value as it prints. */
    static MarkedText text(Object value) {
        if (value instanceof MarkedText text) {
            return text;
        }
        if (value instanceof Boolean bool) {
            return MarkedText.trusted(bool ? "True" : "False");
        }
        if (value instanceof Nothing nothing) {
            return MarkedText.trusted(nothing == Nothing.NONE ? "None" : "");
        }
        if (value instanceof Number number) {
            return MarkedText.trusted(number.toString());
        }
        return Json.write(value, -1);
    }

    static Object item(Object container, Object key) {
        if (container instanceof Map<?, ?> map && key instanceof MarkedText name) {
            Object value = map.get(name.text());
            return value == null ? Nothing.UNDEFINED : value;
        }
        if (key instanceof Long index) {
            int size = container instanceof List<?> list
                    ? list.size()
                    : container instanceof MarkedText text ? text.text().length() : 0;
            long at = index < 0 ? index + size : index;
            if (at >= 0 && at < size) {
                return container instanceof List<?> list
                        ? list.get((int) at)
                        : ((MarkedText) container).substring((int) at, (int) at + 1);
            }
        }
        if (container == Nothing.UNDEFINED) {
            throw new JinjaException("item " + text(key) + " of an undefined value");
        }
        return Nothing.UNDEFINED;
    }

    /** {@code container[from:to:step]}; borders and step may be {@link Nothing#NONE}. */
    static Object slice(Object container, Object from, Object to, Object step) {
        int size = container instanceof MarkedText text
                ? text.text().length()
                : list(container).size();
        long stride = step instanceof Long number ? number : 1;
        if (stride == 0) {
            throw new JinjaException("slice step: 0 (expected: another number)");
        }
        long start = border(from, stride > 0 ? 0 : size - 1, size, stride);
        long end = border(to, stride > 0 ? size : -1, size, stride);
        if (container instanceof MarkedText text && stride == 1) {
            return text.substring((int) Math.min(start, end), (int) end);
        }
        List<Object> out = new ArrayList<>();
        MarkedText.Builder chars = new MarkedText.Builder();
        for (long i = start; stride > 0 ? i < end : i > end; i += stride) {
            if (container instanceof MarkedText text) {
                chars.append(text.substring((int) i, (int) i + 1));
            } else {
                out.add(list(container).get((int) i));
            }
        }
        return container instanceof MarkedText ? chars.build() : out;
    }

    private static long border(Object given, long fallback, int size, long stride) {
        if (!(given instanceof Long number)) {
            return fallback;
        }
        long at = number < 0 ? number + size : number;
        return stride > 0 ? Math.max(0, Math.min(size, at)) : Math.max(-1, Math.min(size - 1, at));
    }

    /** The elements of a list, the keys of a mapping, the characters of a string; nothing of what is undefined. */
    static List<Object> list(Object value) {
        if (value instanceof List<?> list) {
            return new ArrayList<>(list);
        }
        List<Object> out = new ArrayList<>();
        if (value instanceof Map<?, ?> map) {
            map.keySet().forEach(key -> out.add(MarkedText.trusted((String) key)));
        } else if (value instanceof MarkedText text) {
            for (int i = 0; i < text.text().length(); i++) {
                out.add(text.substring(i, i + 1));
            }
        } else if (value != Nothing.UNDEFINED) {
            throw new JinjaException(kind(value) + " (expected: a list)");
        }
        return out;
    }

    static long length(Object value) {
        return value instanceof MarkedText text
                ? text.text().length()
                : list(value).size();
    }

    static String kind(Object value) {
        if (value instanceof MarkedText) {
            return "a string";
        }
        if (value instanceof Nothing nothing) {
            return nothing == Nothing.NONE ? "none" : "an undefined value";
        }
        return value instanceof List
                ? "a list"
                : value instanceof Map ? "a mapping" : value instanceof Callable ? "a function" : "the value " + value;
    }
}
