// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import io.mooncake.djl.text.jinja.Lexer.Piece;
import io.mooncake.djl.text.jinja.Statement.Flow;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Parses text, prints and blocks into statements. */
final class StatementParser {
    private static final int MAX_DEPTH = 100;

    private final List<Piece> pieces;
    private int at;
    private int depth;
    private String lastEnd = "";

    private StatementParser(List<Piece> pieces) {
        this.pieces = pieces;
    }

    static List<Statement> parse(String template) {
        StatementParser parser = new StatementParser(Lexer.pieces(template));
        return parser.until(Set.of());
    }

    /** Statements up to a block of one of these names, which is taken; {@link #lastEnd} tells which. */
    private List<Statement> until(Set<String> ends) {
        if (++depth > MAX_DEPTH) {
            throw new JinjaException("blocks nested deeper than " + MAX_DEPTH);
        }
        List<Statement> out = new ArrayList<>();
        while (at < pieces.size()) {
            Piece piece = pieces.get(at);
            if (piece.tokens().isEmpty()) {
                MarkedText text = MarkedText.trusted(piece.text());
                out.add(scope -> print(scope, text));
                at++;
                continue;
            }
            ExpressionParser tag = new ExpressionParser(piece.tokens());
            if (piece.print()) {
                Expression value = tag.tuple();
                tag.end();
                out.add(scope -> print(scope, Values.text(value.eval(scope))));
                at++;
            } else if (ends.contains(tag.peek().text())) {
                lastEnd = tag.peek().text();
                depth--;
                return out;
            } else {
                at++;
                out.add(block(tag));
            }
        }
        if (!ends.isEmpty()) {
            throw new JinjaException(
                    "the end of the template (expected: " + String.join(" or ", new TreeSet<>(ends)) + ")");
        }
        depth--;
        return out;
    }

    private static Flow print(Scope scope, MarkedText text) {
        scope.print(text);
        return Flow.NEXT;
    }

    private Statement block(ExpressionParser tag) {
        String name = tag.name();
        return switch (name) {
            case "if" -> conditional(tag);
            case "for" -> loop(tag);
            case "set" -> assignment(tag);
            case "macro" -> macro(tag);
            case "generation" -> generation(tag);
            case "break" -> scope -> Flow.BREAK;
            case "continue" -> scope -> Flow.CONTINUE;
            default -> throw new JinjaException("block " + name + " (expected: if, for, set, macro, break, continue)");
        };
    }

    private ExpressionParser takeEnd() {
        ExpressionParser tag = new ExpressionParser(pieces.get(at++).tokens());
        tag.name();
        return tag;
    }

    private Statement conditional(ExpressionParser tag) {
        Expression condition = tag.tuple();
        tag.end();
        List<Statement> then = until(Set.of("elif", "else", "endif"));
        String end = lastEnd;
        ExpressionParser endTag = takeEnd();
        List<Statement> otherwise = new ArrayList<>();
        if (end.equals("elif")) {
            otherwise.add(conditional(endTag));
        } else if (end.equals("else")) {
            otherwise.addAll(until(Set.of("endif")));
            takeEnd();
        }
        return scope -> Statement.runAll(Values.truthy(condition.eval(scope)) ? then : otherwise, scope);
    }

    private Statement loop(ExpressionParser tag) {
        List<String> names = new ArrayList<>();
        do {
            names.add(tag.name());
        } while (tag.take(","));
        tag.expect("in");
        Expression items = tag.or();
        Expression condition = tag.take("if") ? tag.or() : scope -> true;
        tag.end();
        List<Statement> body = until(Set.of("else", "endfor"));
        List<Statement> otherwise = List.of();
        boolean hasElse = lastEnd.equals("else");
        takeEnd();
        if (hasElse) {
            otherwise = until(Set.of("endfor"));
            takeEnd();
        }
        List<Statement> none = otherwise;
        return scope -> runLoop(scope, names, items, condition, body, none);
    }

    private static Flow runLoop(
            Scope outer,
            List<String> names,
            Expression items,
            Expression condition,
            List<Statement> body,
            List<Statement> none) {
        List<Object> chosen = new ArrayList<>();
        for (Object item : Values.list(items.eval(outer))) {
            Scope scope = outer.inner();
            scope.step();
            bind(scope, names, item);
            if (Values.truthy(condition.eval(scope))) {
                chosen.add(item);
            }
        }
        if (chosen.isEmpty()) {
            return Statement.runAll(none, outer);
        }
        for (int i = 0; i < chosen.size(); i++) {
            Scope scope = outer.inner();
            bind(scope, names, chosen.get(i));
            scope.set("loop", loopState(chosen, i));
            if (Statement.runAll(body, scope) == Flow.BREAK) {
                break;
            }
        }
        return Flow.NEXT;
    }

    private static void bind(Scope scope, List<String> names, Object item) {
        if (names.size() == 1) {
            scope.set(names.get(0), item);
            return;
        }
        List<Object> parts = Values.list(item);
        if (parts.size() != names.size()) {
            throw new JinjaException("items: " + parts.size() + " (expected: " + names.size() + " to unpack)");
        }
        for (int i = 0; i < names.size(); i++) {
            scope.set(names.get(i), parts.get(i));
        }
    }

    private static Map<String, Object> loopState(List<Object> items, int index) {
        Map<String, Object> loop = new LinkedHashMap<>();
        loop.put("index", index + 1L);
        loop.put("index0", (long) index);
        loop.put("first", index == 0);
        loop.put("last", index == items.size() - 1);
        loop.put("length", (long) items.size());
        loop.put("revindex", (long) items.size() - index);
        loop.put("revindex0", items.size() - index - 1L);
        loop.put("previtem", index > 0 ? items.get(index - 1) : Nothing.UNDEFINED);
        loop.put("nextitem", index + 1 < items.size() ? items.get(index + 1) : Nothing.UNDEFINED);
        return loop;
    }

    private Statement assignment(ExpressionParser tag) {
        List<String> names = new ArrayList<>(List.of(tag.name()));
        String attribute = tag.take(".") ? tag.name() : "";
        while (tag.take(",")) {
            names.add(tag.name());
        }
        if (!tag.take("=")) {
            tag.end();
            List<Statement> body = until(Set.of("endset"));
            takeEnd();
            return scope -> assign(scope, names, attribute, capture(scope, body));
        }
        Expression value = tag.tuple();
        tag.end();
        return scope -> assign(scope, names, attribute, value.eval(scope));
    }

    @SuppressWarnings("unchecked") // namespaces are maps that the library made
    private static Flow assign(Scope scope, List<String> names, String attribute, Object value) {
        if (attribute.isEmpty()) {
            bind(scope, names, value);
        } else if (scope.get(names.get(0)) instanceof Map<?, ?> namespace) {
            ((Map<String, Object>) namespace).put(attribute, value);
        } else {
            throw new JinjaException(names.get(0) + "." + attribute + " (expected: a namespace)");
        }
        return Flow.NEXT;
    }

    private static MarkedText capture(Scope scope, List<Statement> body) {
        Scope inner = scope.captured();
        Statement.runAll(body, inner);
        return inner.out.build();
    }

    private Statement macro(ExpressionParser tag) {
        String name = tag.name();
        tag.expect("(");
        Map<String, Expression> parameters = new LinkedHashMap<>();
        while (!tag.take(")")) {
            String parameter = tag.name();
            parameters.put(parameter, tag.take("=") ? tag.expression() : scope -> Nothing.UNDEFINED);
            if (!tag.is(")")) {
                tag.expect(",");
            }
        }
        tag.end();
        List<Statement> body = until(Set.of("endmacro"));
        takeEnd();
        return scope -> {
            scope.set(name, (Callable) (caller, arguments, named) -> {
                Scope inner = scope.captured();
                int i = 0;
                for (Map.Entry<String, Expression> parameter : parameters.entrySet()) {
                    Object given = i < arguments.size() ? arguments.get(i) : named.get(parameter.getKey());
                    inner.set(
                            parameter.getKey(),
                            given != null ? given : parameter.getValue().eval(scope));
                    i++;
                }
                inner.enterCall();
                Statement.runAll(body, inner);
                inner.leaveCall();
                return inner.out.build();
            });
            return Flow.NEXT;
        };
    }

    /** Marks what the assistant says, for training; here it is only what it holds. */
    private Statement generation(ExpressionParser tag) {
        tag.end();
        List<Statement> body = until(Set.of("endgeneration"));
        takeEnd();
        return scope -> Statement.runAll(body, scope);
    }
}
