// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Filters, tests, methods and functions that chat templates call. */
final class Library {
    private Library() {}

    /** Functions that every template sees. */
    static Map<String, Object> globals() {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("raise_exception", (Callable) (scope, arguments, named) -> {
            throw new JinjaException(Values.text(argument(arguments, 0)).text(), true);
        });
        out.put("namespace", (Callable) (scope, arguments, named) -> new LinkedHashMap<>(named));
        out.put("dict", (Callable) (scope, arguments, named) -> new LinkedHashMap<>(named));
        out.put("range", (Callable) (scope, arguments, named) -> range(scope, arguments));
        return out;
    }

    private static List<Object> range(Scope scope, List<Object> arguments) {
        long from = arguments.size() > 1 ? integer(arguments.get(0)) : 0;
        long to = integer(argument(arguments, arguments.size() > 1 ? 1 : 0));
        long step = arguments.size() > 2 ? integer(arguments.get(2)) : 1;
        if (step == 0) {
            throw new JinjaException("range step: 0 (expected: another number)");
        }
        List<Object> out = new ArrayList<>();
        for (long i = from; step > 0 ? i < to : i > to; i += step) {
            scope.step();
            out.add(i);
        }
        return out;
    }

    static Object filter(String name, Object value, List<Object> arguments, Map<String, Object> named) {
        return switch (name) {
            case "trim" -> Values.text(value).strip(true, true, "");
            case "length", "count" -> Values.length(value);
            case "upper", "lower", "title", "capitalize" -> changeCase(name, Values.text(value));
            case "string" -> Values.text(value);
            case "safe" -> value;
            case "int" -> toLong(value);
            case "list" -> Values.list(value);
            case "items" -> items(value);
            case "first" -> Values.item(Values.list(value), 0L);
            case "last" -> Values.item(Values.list(value), -1L);
            case "reverse" -> reverse(value);
            case "join" -> join(Values.list(value), arguments.isEmpty() ? MarkedText.trusted("") : text(arguments, 0));
            case "replace" -> Values.text(value).replace(text(arguments, 0), text(arguments, 1));
            case "default", "d" -> orDefault(value, arguments, named);
            case "tojson" ->
                Json.write(value, named.get("indent") instanceof Long indent ? Math.toIntExact(indent) : -1);
            default -> throw new JinjaException("filter " + name + " (expected: one of those chat templates use)");
        };
    }

    private static Object orDefault(Object value, List<Object> arguments, Map<String, Object> named) {
        boolean alsoFalse = arguments.size() > 1
                ? Values.truthy(arguments.get(1))
                : Values.truthy(named.getOrDefault("boolean", false));
        boolean missing = value == Nothing.UNDEFINED || (alsoFalse && !Values.truthy(value));
        return missing ? argument(arguments, 0) : value;
    }

    private static Object reverse(Object value) {
        if (value instanceof MarkedText) {
            return Values.slice(value, Nothing.NONE, Nothing.NONE, -1L);
        }
        List<Object> out = Values.list(value);
        Collections.reverse(out);
        return out;
    }

    private static MarkedText join(List<Object> parts, MarkedText separator) {
        MarkedText.Builder out = new MarkedText.Builder();
        for (int i = 0; i < parts.size(); i++) {
            if (i > 0) {
                out.append(separator);
            }
            out.append(Values.text(parts.get(i)));
            Scope.checkLength(out.length());
        }
        return out.build();
    }

    private static MarkedText changeCase(String name, MarkedText marked) {
        String text = marked.text();
        return marked.rewrite(
                switch (name) {
                    case "upper" -> text.toUpperCase(Locale.ROOT);
                    case "lower" -> text.toLowerCase(Locale.ROOT);
                    case "title" -> title(text);
                    default ->
                        text.isEmpty()
                                ? text
                                : text.substring(0, 1).toUpperCase(Locale.ROOT)
                                        + text.substring(1).toLowerCase(Locale.ROOT);
                });
    }

    private static String title(String text) {
        StringBuilder out = new StringBuilder(text.length());
        boolean start = true;
        for (char c : text.toCharArray()) {
            out.append(start ? Character.toUpperCase(c) : Character.toLowerCase(c));
            start = !Character.isLetter(c);
        }
        return out.toString();
    }

    static boolean test(String name, Object value, List<Object> arguments) {
        return switch (name) {
            case "defined" -> value != Nothing.UNDEFINED;
            case "undefined" -> value == Nothing.UNDEFINED;
            case "none" -> value == Nothing.NONE;
            case "string" -> value instanceof MarkedText;
            case "number" -> value instanceof Number;
            case "integer" -> value instanceof Long;
            case "boolean" -> value instanceof Boolean;
            case "true" -> value.equals(true);
            case "false" -> value.equals(false);
            case "mapping" -> value instanceof Map;
            case "iterable", "sequence" -> value instanceof List || value instanceof Map || value instanceof MarkedText;
            case "callable" -> value instanceof Callable;
            case "odd" -> Math.floorMod(integer(value), 2) == 1;
            case "even" -> Math.floorMod(integer(value), 2) == 0;
            case "divisibleby" -> integer(value) % integer(argument(arguments, 0)) == 0;
            case "equalto", "eq" -> Values.equal(value, argument(arguments, 0));
            case "ne" -> !Values.equal(value, argument(arguments, 0));
            case "in" -> Values.contains(argument(arguments, 0), value);
            default -> throw new JinjaException("test " + name + " (expected: one of those chat templates use)");
        };
    }

    /** An attribute: the item of that name where there is one, else the method. */
    static Object attribute(Object value, String name) {
        if (value instanceof Map<?, ?> map && map.get(name) != null) {
            return Values.item(value, MarkedText.trusted(name));
        }
        if (value == Nothing.UNDEFINED) {
            throw new JinjaException("attribute " + name + " of an undefined value");
        }
        if (value instanceof MarkedText text) {
            return (Callable) (scope, arguments, named) -> textMethod(text, name, arguments);
        }
        if (value instanceof Map<?, ?> map
                && List.of("get", "items", "keys", "values").contains(name)) {
            return (Callable) (scope, arguments, named) -> mapMethod(map, name, arguments);
        }
        if (value instanceof List<?> && name.equals("append")) {
            return (Callable) (scope, arguments, named) -> append(value, argument(arguments, 0));
        }
        return Nothing.UNDEFINED;
    }

    @SuppressWarnings("unchecked") // templates make lists of any value
    private static Object append(Object list, Object item) {
        Scope.checkLength(((List<Object>) list).size());
        ((List<Object>) list).add(item);
        return Nothing.NONE;
    }

    private static Object textMethod(MarkedText text, String name, List<Object> arguments) {
        String given = arguments.isEmpty() || arguments.get(0) instanceof Nothing
                ? ""
                : Values.text(arguments.get(0)).text();
        return switch (name) {
            case "strip" -> text.strip(true, true, given);
            case "lstrip" -> text.strip(true, false, given);
            case "rstrip" -> text.strip(false, true, given);
            case "split" -> text.split(given, arguments.size() > 1 ? Math.toIntExact(integer(arguments.get(1))) : -1);
            case "startswith" -> startsOrEnds(text, argument(arguments, 0), true);
            case "endswith" -> startsOrEnds(text, argument(arguments, 0), false);
            case "upper", "lower", "title", "capitalize" -> changeCase(name, text);
            case "replace" -> text.replace(text(arguments, 0), text(arguments, 1));
            case "find" -> (long) text.text().indexOf(given);
            case "count" -> given.isEmpty() ? 0L : text.split(given, -1).size() - 1L;
            case "join" -> join(Values.list(argument(arguments, 0)), text);
            default -> throw new JinjaException("method " + name + " of a string");
        };
    }

    private static boolean startsOrEnds(MarkedText text, Object parts, boolean start) {
        List<Object> any = parts instanceof MarkedText ? List.of(parts) : Values.list(parts);
        return any.stream()
                .map(part -> Values.text(part).text())
                .anyMatch(part ->
                        start ? text.text().startsWith(part) : text.text().endsWith(part));
    }

    private static Object mapMethod(Map<?, ?> map, String name, List<Object> arguments) {
        return switch (name) {
            case "get" -> {
                Object value = map.get(text(arguments, 0).text());
                yield value != null ? value : arguments.size() > 1 ? arguments.get(1) : Nothing.NONE;
            }
            case "items" -> items(map);
            case "keys" -> Values.list(map);
            default -> new ArrayList<Object>(map.values());
        };
    }

    private static List<Object> items(Object value) {
        List<Object> out = new ArrayList<>();
        if (value instanceof Map<?, ?> map) {
            map.forEach((key, item) -> out.add(List.of(MarkedText.trusted((String) key), item)));
        } else if (value != Nothing.UNDEFINED) {
            throw new JinjaException(Values.kind(value) + " (expected: a mapping)");
        }
        return out;
    }

    private static Object argument(List<Object> arguments, int index) {
        if (index >= arguments.size()) {
            throw new JinjaException("arguments: " + arguments.size() + " (expected: at least " + (index + 1) + ")");
        }
        return arguments.get(index);
    }

    private static MarkedText text(List<Object> arguments, int index) {
        return Values.text(argument(arguments, index));
    }

    private static long integer(Object value) {
        if (value instanceof Long number) {
            return number;
        }
        throw new JinjaException(Values.kind(value) + " (expected: an integer)");
    }

    private static long toLong(Object value) {
        if (value instanceof Number number) {
            return number.longValue();
        }
        try {
            return Long.parseLong(Values.text(value).text().trim());
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
