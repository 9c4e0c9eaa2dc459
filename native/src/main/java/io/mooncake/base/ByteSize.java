// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as people write them: {@code 8GiB}, {@code 512 MiB}, {@code 65536}. Powers of two only, so that 1 GB is never mistaken for 1 GiB. */
public final class ByteSize {
    private static final Pattern FORM = Pattern.compile("\\s*(\\d{1,19})\\s*(|B|KiB|MiB|GiB|TiB)\\s*");
    private static final String EXPECTED = "a whole number with B, KiB, MiB, GiB or TiB, for example 8GiB";

    private ByteSize() {}

    /**
     * Parses {@code text} into bytes.
     *
     * @param name the option that the error names
     * @throws MooncakeException INVALID_ARGUMENT when it is no size or does not fit 63 bits
     */
    public static long parse(String name, String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            throw MooncakeException.invalid(name, text, EXPECTED);
        }
        int shift =
                switch (matcher.group(2)) {
                    case "KiB" -> 10;
                    case "MiB" -> 20;
                    case "GiB" -> 30;
                    case "TiB" -> 40;
                    default -> 0;
                };
        try {
            return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
        } catch (ArithmeticException | NumberFormatException e) {
            throw MooncakeException.invalid(name, text, "at most 8388607TiB");
        }
    }

    /** {@code bytes} in the largest unit that leaves at least one, with one decimal place: {@code 1.5 GiB}. */
    public static String format(long bytes) {
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        return unit == 0 ? bytes + " B" : String.format(Locale.ROOT, "%.1f %s", value, units[unit]);
    }
}
