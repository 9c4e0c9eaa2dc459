// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The plots of the page, each one SVG text. */
public final class Plots {
    private static final int WIDTH = 960;
    private static final int LEFT = 64;
    private static final int RIGHT = 16;

    private Plots() {}

    /**
     * A pair of figures for one request.
     *
     * @param label under the axis
     * @param with the figure with the cache, above zero
     * @param without the figure without it, above zero
     * @param marked drawn in the second colour
     * @param title shown when pointed at
     */
    public record Pair(String label, double with, double without, boolean marked, String title) {}

    /**
     * A bar of stacked parts.
     *
     * @param label its name
     * @param parts sizes in the order of the colours
     * @param title shown when pointed at
     */
    public record Stack(String label, List<Double> parts, String title) {
        public Stack {
            parts = List.copyOf(parts);
        }

        double sum() {
            return parts.stream().mapToDouble(Double::doubleValue).sum();
        }
    }

    /** For each request both times on one logarithmic axis in milliseconds, joined by a line. */
    public static String pairs(String title, List<Pair> pairs) {
        int height = 330;
        int top = 16;
        int bottom = height - 34;
        Svg svg = new Svg(WIDTH, height, title);
        List<Double> ticks = ladder(
                pairs.stream()
                        .mapToDouble(p -> Math.min(p.with(), p.without()))
                        .min()
                        .orElse(1),
                pairs.stream()
                        .mapToDouble(p -> Math.max(p.with(), p.without()))
                        .max()
                        .orElse(10));
        double low = Math.log10(ticks.get(0));
        double scale = (bottom - top) / (Math.log10(ticks.get(ticks.size() - 1)) - low);
        for (double tick : ticks) {
            double y = bottom - (Math.log10(tick) - low) * scale;
            svg.line("grid", LEFT, y, WIDTH - RIGHT, y);
            svg.label("tick", LEFT - 8, y + 4, "end", millis(tick));
        }
        double step = (double) (WIDTH - LEFT - RIGHT) / Math.max(1, pairs.size());
        for (int i = 0; i < pairs.size(); i++) {
            Pair pair = pairs.get(i);
            double x = LEFT + step * (i + 0.5);
            double yWith = bottom - (Math.log10(pair.with()) - low) * scale;
            double yWithout = bottom - (Math.log10(pair.without()) - low) * scale;
            svg.line("stem", x, yWith, x, yWithout);
            svg.circle("dot-computed", x, yWithout, 4.5, pair.title());
            svg.circle(pair.marked() ? "dot-remote" : "dot-local", x, yWith, 5, pair.title());
            tick(svg, x, bottom + 18, i, pairs.size(), pair.label());
        }
        return svg.end();
    }

    /** For each request one column of stacked tokens. */
    public static String columns(String title, List<Stack> stacks, List<String> css) {
        int height = 270;
        int top = 14;
        int bottom = height - 34;
        Svg svg = new Svg(WIDTH, height, title);
        double max = niceCeiling(stacks.stream().mapToDouble(Stack::sum).max().orElse(1));
        double scale = (bottom - top) / max;
        for (int i = 0; i <= 4; i++) {
            double y = bottom - max * i / 4 * scale;
            svg.line(i == 0 ? "axis" : "grid", LEFT, y, WIDTH - RIGHT, y);
            svg.label("tick", LEFT - 8, y + 4, "end", BenchmarkReport.number(Math.rint(max * i / 4)));
        }
        double step = (double) (WIDTH - LEFT - RIGHT) / Math.max(1, stacks.size());
        double bar = Math.min(22, step * 0.72);
        for (int i = 0; i < stacks.size(); i++) {
            double y = bottom;
            double x = LEFT + step * (i + 0.5);
            for (int part = 0; part < css.size(); part++) {
                double size = stacks.get(i).parts().get(part) * scale;
                if (size > 0) {
                    y -= size;
                    svg.rect(
                            css.get(part),
                            x - bar / 2,
                            y,
                            bar,
                            Math.max(1, size - 1),
                            stacks.get(i).title());
                }
            }
            tick(svg, x, bottom + 18, i, stacks.size(), stacks.get(i).label());
        }
        return svg.end();
    }

    /** One row a name, parts as shares of the longest row. */
    public static String rows(String title, List<Stack> stacks, List<String> css, String unit) {
        int rowHeight = 40;
        int left = 90;
        int right = 150;
        int height = 10 + rowHeight * stacks.size();
        Svg svg = new Svg(WIDTH, height, title);
        double max = Math.max(1, stacks.stream().mapToDouble(Stack::sum).max().orElse(1));
        double scale = (WIDTH - left - right) / max;
        for (int i = 0; i < stacks.size(); i++) {
            Stack stack = stacks.get(i);
            double y = 8 + i * rowHeight;
            double x = left;
            svg.label("name", left - 12, y + 18, "end", stack.label());
            for (int part = 0; part < css.size(); part++) {
                double size = stack.parts().get(part) * scale;
                if (size > 0) {
                    svg.rect(css.get(part), x, y, Math.max(1, size - 1.5), 26, stack.title());
                    x += size;
                }
            }
            svg.label("tick", x + 8, y + 18, "start", BenchmarkReport.number(stack.sum()) + " " + unit);
        }
        return svg.end();
    }

    /** Labels under columns, thinned out where they would touch. */
    private static void tick(Svg svg, double x, double y, int index, int count, String label) {
        int every = Math.max(1, (int) Math.ceil(count / 40.0));
        if (index % every == 0) {
            svg.label("tick", x, y, "middle", label);
        }
    }

    /** Round numbers 1, 2, 5, 10, ... from the last one at or below {@code min} to the first one at or above {@code max}; two at least. */
    static List<Double> ladder(double min, double max) {
        List<Double> ticks = new ArrayList<>();
        double power = Math.pow(10, Math.floor(Math.log10(Math.max(min, 1e-3))));
        while (true) {
            for (int step : new int[] {1, 2, 5}) {
                double tick = power * step;
                if (tick <= min) {
                    ticks.clear();
                }
                ticks.add(tick);
                if (tick >= max && ticks.size() > 1) {
                    return ticks;
                }
            }
            power *= 10;
        }
    }

    static double niceCeiling(double value) {
        double power = Math.pow(10, Math.floor(Math.log10(Math.max(value, 1e-9))));
        for (double step : new double[] {1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10}) {
            if (value <= step * power * (1 + 1e-9)) {
                return step * power;
            }
        }
        return 10 * power;
    }

    private static String millis(double value) {
        return value >= 1000
                ? String.format(Locale.ROOT, "%.0f s", value / 1000)
                : String.format(Locale.ROOT, value >= 1 ? "%.0f ms" : "%.1f ms", value);
    }
}
