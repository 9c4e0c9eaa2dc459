// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A parsed template. It knows the statements if, for, set, macro, break and continue, and the filters, tests and methods that chat
 * templates of published models use; anything else is a {@link JinjaException} that names it.
 *
 * <p>Immutable and safe for all threads. One rendering is bounded in steps, depth and output.
 *
 * <p>Source: the Jinja 2 template language, with {@code trim_blocks} and {@code lstrip_blocks} on, as in Hugging Face transformers.
 */
public final class JinjaTemplate {
    private final List<Statement> statements;

    private JinjaTemplate(List<Statement> statements) {
        this.statements = statements;
    }

    /** Parses a template. */
    public static JinjaTemplate parse(String template) {
        try {
            return new JinjaTemplate(StatementParser.parse(template));
        } catch (StackOverflowError e) {
            throw new JinjaException("template: nested too deeply (expected: one that people can read)");
        }
    }

    /** Renders it; values are MarkedText, String (trusted), Boolean, Integer, Long, Double, List and Map with String keys. */
    public MarkedText render(Map<String, ?> variables) {
        Map<String, Object> globals = Library.globals();
        variables.forEach((name, value) -> globals.put(name, toValue(value)));
        Scope scope = new Scope(globals);
        try {
            Statement.runAll(statements, scope);
        } catch (ArithmeticException | ClassCastException e) {
            throw new JinjaException("values: " + e.getMessage());
        } catch (StackOverflowError e) {
            throw new JinjaException("values nested too deeply (expected: none that hold themselves)");
        }
        return scope.out.build();
    }

    private static Object toValue(Object value) {
        if (value instanceof String text) {
            return MarkedText.trusted(text);
        }
        if (value instanceof Integer number) {
            return (long) number;
        }
        if (value instanceof List<?> list) {
            List<Object> out = new ArrayList<>();
            list.forEach(item -> out.add(toValue(item)));
            return out;
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> out = new LinkedHashMap<>();
            map.forEach((key, item) -> out.put((String) key, toValue(item)));
            return out;
        }
        return value;
    }
}
