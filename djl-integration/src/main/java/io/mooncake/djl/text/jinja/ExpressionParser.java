// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import io.mooncake.djl.text.jinja.Lexer.Kind;
import io.mooncake.djl.text.jinja.Lexer.Token;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Parses the expressions of one tag by recursive descent; the order of the methods is the order of binding, weakest first. */
final class ExpressionParser {
    private static final int MAX_DEPTH = 100;
    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", ">", "<=", ">=");

    /** Arguments of a call. */
    private record Arguments(List<Expression> positional, Map<String, Expression> named) {
        List<Object> eval(Scope scope) {
            List<Object> out = new ArrayList<>();
            positional.forEach(argument -> out.add(argument.eval(scope)));
            return out;
        }

        Map<String, Object> evalNamed(Scope scope) {
            Map<String, Object> out = new LinkedHashMap<>();
            named.forEach((name, argument) -> out.put(name, argument.eval(scope)));
            return out;
        }
    }

    private final List<Token> tokens;
    private int at;
    private int depth;

    ExpressionParser(List<Token> tokens) {
        this.tokens = tokens;
    }

    Token peek() {
        return tokens.get(at);
    }

    Token next() {
        Token token = tokens.get(at);
        if (token.kind() != Kind.END) {
            at++;
        }
        return token;
    }

    /** Whether the next token is that sign or word, which is then taken. */
    boolean take(String text) {
        boolean match = is(text);
        at += match ? 1 : 0;
        return match;
    }

    boolean is(String text) {
        Token token = peek();
        return (token.kind() == Kind.SIGN || token.kind() == Kind.NAME)
                && token.text().equals(text);
    }

    void expect(String text) {
        if (!take(text)) {
            throw unexpected(text);
        }
    }

    String name() {
        if (peek().kind() != Kind.NAME) {
            throw unexpected("a name");
        }
        return next().text();
    }

    void end() {
        if (peek().kind() != Kind.END) {
            throw unexpected("the end of the tag");
        }
    }

    JinjaException unexpected(String expected) {
        return new JinjaException("\"" + peek().text() + "\" at " + peek().at() + " (expected: " + expected + ")");
    }

    /** An expression; a tuple where commas follow. */
    Expression tuple() {
        Expression first = expression();
        if (!is(",")) {
            return first;
        }
        List<Expression> items = new ArrayList<>(List.of(first));
        while (take(",") && peek().kind() != Kind.END) {
            items.add(expression());
        }
        return list(items);
    }

    Expression expression() {
        if (++depth > MAX_DEPTH) {
            throw new JinjaException("expression at " + peek().at() + " is nested deeper than " + MAX_DEPTH);
        }
        Expression value = or();
        while (take("if")) {
            Expression then = value;
            Expression condition = or();
            Expression otherwise = take("else") ? expression() : scope -> Nothing.UNDEFINED;
            value = scope -> Values.truthy(condition.eval(scope)) ? then.eval(scope) : otherwise.eval(scope);
        }
        depth--;
        return value;
    }

    /** An expression that may not be a condition, as in {@code for x in y if z}. */
    Expression or() {
        Expression left = and();
        while (take("or")) {
            Expression a = left;
            Expression b = and();
            left = scope -> {
                Object value = a.eval(scope);
                return Values.truthy(value) ? value : b.eval(scope);
            };
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (take("and")) {
            Expression a = left;
            Expression b = not();
            left = scope -> {
                Object value = a.eval(scope);
                return Values.truthy(value) ? b.eval(scope) : value;
            };
        }
        return left;
    }

    private Expression not() {
        boolean negate = false;
        while (take("not")) {
            negate = !negate;
            if (!is("not")) {
                Expression value = comparison();
                boolean negated = negate;
                return scope -> Values.truthy(value.eval(scope)) != negated;
            }
        }
        return comparison();
    }

    private Expression comparison() {
        Expression left = sum();
        while (true) {
            Expression a = left;
            if (peek().kind() == Kind.SIGN && COMPARISONS.contains(peek().text())) {
                String sign = next().text();
                Expression b = sum();
                left = scope -> compare(sign, a.eval(scope), b.eval(scope));
            } else if (is("in") || (is("not") && tokens.get(at + 1).text().equals("in"))) {
                boolean negated = take("not");
                expect("in");
                Expression b = sum();
                left = scope -> Values.contains(b.eval(scope), a.eval(scope)) != negated;
            } else {
                return left;
            }
        }
    }

    private static boolean compare(String sign, Object a, Object b) {
        return switch (sign) {
            case "==" -> Values.equal(a, b);
            case "!=" -> !Values.equal(a, b);
            case "<" -> Values.compare(a, b) < 0;
            case ">" -> Values.compare(a, b) > 0;
            case "<=" -> Values.compare(a, b) <= 0;
            default -> Values.compare(a, b) >= 0;
        };
    }

    private Expression sum() {
        Expression left = concatenation();
        while (is("+") || is("-")) {
            left = arithmetic(left, next().text(), concatenation());
        }
        return left;
    }

    private Expression concatenation() {
        Expression left = product();
        while (take("~")) {
            Expression a = left;
            Expression b = product();
            left = scope -> Values.arithmetic("+", Values.text(a.eval(scope)), Values.text(b.eval(scope)));
        }
        return left;
    }

    private Expression product() {
        Expression left = unary();
        while (is("*") || is("/") || is("//") || is("%")) {
            left = arithmetic(left, next().text(), unary());
        }
        return left;
    }

    private static Expression arithmetic(Expression a, String sign, Expression b) {
        return scope -> Values.arithmetic(sign, a.eval(scope), b.eval(scope));
    }

    private Expression unary() {
        if (take("-")) {
            Expression value = postfix(primary());
            return scope -> Values.arithmetic("-", 0L, value.eval(scope));
        }
        return filters(postfix(primary()));
    }

    private Expression filters(Expression value) {
        while (true) {
            if (take("|")) {
                value = filter(value);
            } else if (take("is")) {
                value = test(value);
            } else {
                return value;
            }
        }
    }

    private Expression filter(Expression value) {
        String name = name();
        Arguments arguments = is("(") ? arguments() : new Arguments(List.of(), Map.of());
        return scope -> {
            scope.step();
            Object input = scope.charge(value.eval(scope));
            return scope.charge(Library.filter(name, input, arguments.eval(scope), arguments.evalNamed(scope)));
        };
    }

    private Expression test(Expression value) {
        boolean negated = take("not");
        String name = name();
        List<Expression> arguments = new ArrayList<>();
        if (is("(")) {
            arguments.addAll(arguments().positional());
        } else if (peek().kind() == Kind.STRING || peek().kind() == Kind.NUMBER || is("[")) {
            arguments.add(postfix(primary()));
        }
        return scope -> {
            List<Object> given = new ArrayList<>();
            arguments.forEach(argument -> given.add(argument.eval(scope)));
            return Library.test(name, value.eval(scope), given) != negated;
        };
    }

    private Expression postfix(Expression value) {
        while (true) {
            Expression object = value;
            if (take(".")) {
                String name = peek().kind() == Kind.NUMBER ? next().text() : name();
                value = scope -> Library.attribute(object.eval(scope), name);
            } else if (take("[")) {
                value = subscript(object);
            } else if (is("(")) {
                value = call(object);
            } else {
                return value;
            }
        }
    }

    private Expression call(Expression function) {
        int place = peek().at();
        Arguments arguments = arguments();
        return scope -> {
            scope.step();
            if (!(function.eval(scope) instanceof Callable callable)) {
                throw new JinjaException("call at " + place + " of what is no function");
            }
            return scope.charge(callable.call(scope, arguments.eval(scope), arguments.evalNamed(scope)));
        };
    }

    private Expression subscript(Expression object) {
        Expression none = scope -> Nothing.NONE;
        Expression first = is(":") ? none : expression();
        if (take("]")) {
            return scope -> Values.item(object.eval(scope), first.eval(scope));
        }
        expect(":");
        Expression second = is(":") || is("]") ? none : expression();
        Expression third = take(":") && !is("]") ? expression() : none;
        expect("]");
        return scope -> Values.slice(object.eval(scope), first.eval(scope), second.eval(scope), third.eval(scope));
    }

    private Arguments arguments() {
        expect("(");
        List<Expression> positional = new ArrayList<>();
        Map<String, Expression> named = new LinkedHashMap<>();
        while (!take(")")) {
            if (peek().kind() == Kind.NAME
                    && tokens.get(at + 1).text().equals("=")
                    && tokens.get(at + 1).kind() == Kind.SIGN) {
                String name = name();
                expect("=");
                named.put(name, expression());
            } else {
                positional.add(expression());
            }
            if (!is(")")) {
                expect(",");
            }
        }
        return new Arguments(positional, named);
    }

    private Expression primary() {
        Token token = next();
        return switch (token.kind()) {
            case STRING -> string(token.text());
            case NUMBER -> number(token);
            case NAME -> variable(token.text());
            case SIGN -> bracket(token);
            case END -> throw unexpected("an expression");
        };
    }

    private Expression string(String text) {
        StringBuilder all = new StringBuilder(text);
        while (peek().kind() == Kind.STRING) {
            all.append(next().text());
        }
        MarkedText value = MarkedText.trusted(all.toString());
        return scope -> value;
    }

    private static Expression number(Token token) {
        try {
            Object value = token.text().contains(".")
                    ? (Object) Double.valueOf(token.text())
                    : (Object) Long.valueOf(token.text());
            return scope -> value;
        } catch (NumberFormatException e) {
            throw new JinjaException("number " + token.text() + " at " + token.at() + " (expected: 64 bits)");
        }
    }

    private static Expression variable(String name) {
        return switch (name) {
            case "true", "True" -> scope -> true;
            case "false", "False" -> scope -> false;
            case "none", "None" -> scope -> Nothing.NONE;
            default -> scope -> scope.get(name);
        };
    }

    private Expression bracket(Token open) {
        switch (open.text()) {
            case "(" -> {
                List<Expression> items = new ArrayList<>();
                boolean comma = items(items, ")");
                return items.size() == 1 && !comma ? items.get(0) : list(items);
            }
            case "[" -> {
                List<Expression> items = new ArrayList<>();
                items(items, "]");
                return list(items);
            }
            case "{" -> {
                return mapping();
            }
            default -> {
                at--;
                throw unexpected("an expression");
            }
        }
    }

    private boolean items(List<Expression> items, String close) {
        boolean comma = false;
        while (!take(close)) {
            items.add(expression());
            if (!is(close)) {
                expect(",");
                comma = true;
            }
        }
        return comma;
    }

    private static Expression list(List<Expression> items) {
        return scope -> {
            List<Object> out = new ArrayList<>();
            items.forEach(item -> out.add(item.eval(scope)));
            return out;
        };
    }

    private Expression mapping() {
        List<Expression> keys = new ArrayList<>();
        List<Expression> values = new ArrayList<>();
        while (!take("}")) {
            keys.add(expression());
            expect(":");
            values.add(expression());
            if (!is("}")) {
                expect(",");
            }
        }
        return scope -> {
            Map<String, Object> out = new LinkedHashMap<>();
            for (int i = 0; i < keys.size(); i++) {
                out.put(
                        Values.text(keys.get(i).eval(scope)).text(),
                        values.get(i).eval(scope));
            }
            return out;
        };
    }
}
