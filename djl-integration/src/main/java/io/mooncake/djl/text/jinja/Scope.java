// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text.jinja;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Variables of one rendering, with those of the surrounding block behind them, and the budget that all of them share. */
final class Scope {
    /** What bounds one rendering, so that no template can hang or fill the memory. */
    static final class Budget {
        static final int MAX_STEPS = 2_000_000;
        static final int MAX_CHARS = 16 << 20;
        static final int MAX_DEPTH = 64;
        /** Copying so many characters takes about as long as one step. */
        static final int CHARS_A_STEP_SHIFT = 7;

        private int steps;
        private int depth;
    }

    private final @Nullable Scope outer;
    private final Budget budget;
    private final Map<String, Object> variables = new HashMap<>();
    final MarkedText.Builder out;

    Scope(Map<String, Object> globals) {
        this.outer = null;
        this.budget = new Budget();
        this.out = new MarkedText.Builder();
        variables.putAll(globals);
    }

    private Scope(Scope outer, MarkedText.Builder out) {
        this.outer = outer;
        this.budget = outer.budget;
        this.out = out;
    }

    /** A block inside of this one that writes to the same place. */
    Scope inner() {
        return new Scope(this, out);
    }

    /** A block inside of this one whose output is kept apart. */
    Scope captured() {
        return new Scope(this, new MarkedText.Builder());
    }

    Object get(String name) {
        for (Scope scope = this; scope != null; scope = scope.outer) {
            Object value = scope.variables.get(name);
            if (value != null) {
                return value;
            }
        }
        return Nothing.UNDEFINED;
    }

    void set(String name, Object value) {
        variables.put(name, charge(value));
    }

    /** Counts one step of work; refuses the rendering when it is too long. */
    void step() {
        if (++budget.steps > Budget.MAX_STEPS) {
            throw new JinjaException("steps: more than " + Budget.MAX_STEPS + " (expected: a template that ends)");
        }
    }

    /** Counts the characters that {@code value} took to make as steps; returns it. */
    Object charge(Object value) {
        if (value instanceof MarkedText text) {
            budget.steps += text.text().length() >>> Budget.CHARS_A_STEP_SHIFT;
            step();
        }
        return value;
    }

    void print(MarkedText text) {
        checkLength((long) out.length() + text.text().length());
        out.append(text);
    }

    static void checkLength(long chars) {
        if (chars > Budget.MAX_CHARS) {
            throw new JinjaException("length: " + chars + " (expected: at most " + Budget.MAX_CHARS + " characters)");
        }
    }

    void enterCall() {
        if (++budget.depth > Budget.MAX_DEPTH) {
            throw new JinjaException("calls nested deeper than " + Budget.MAX_DEPTH);
        }
    }

    void leaveCall() {
        budget.depth--;
    }
}
