// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.gson.Gson;
import io.mooncake.djl.text.jinja.JinjaException;
import io.mooncake.djl.text.jinja.JinjaTemplate;
import io.mooncake.djl.text.jinja.MarkedText;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JinjaTemplateTest {
    /** The expected texts come from Python's Jinja 3.1.6 with trim_blocks and lstrip_blocks. */
    @Test
    void render_constructsOfPublishedTemplates_givesTheTextOfPython() throws Exception {
        String[] expected;
        try (Reader in = new InputStreamReader(
                JinjaTemplateTest.class.getResourceAsStream("/jinja-expected.json"), StandardCharsets.UTF_8)) {
            expected = new Gson().fromJson(in, String[].class);
        }
        assertThat(expected).hasSameSizeAs(JinjaSamples.TEMPLATES);
        for (int i = 0; i < expected.length; i++) {
            String template = JinjaSamples.TEMPLATES.get(i);
            assertThat(JinjaTemplate.parse(template)
                            .render(JinjaSamples.variables())
                            .text())
                    .as(template)
                    .isEqualTo(expected[i]);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "{{ true }} {{ none }} {{ missing }}|; True None |",
                "{{ -7 % 3 }} {{ -7 // 2 }} {{ 7 / 2 }} ; 2 -4 3.5",
                "{{ 'a' if missing is not defined }} ; a",
                "{{ x | trim | upper }} ; AB",
                "{{ x.strip()[0] ~ x[-1] }} ; `a `",
                "{{ {'a': {'b': 3}}.a.b }} ; 3",
                "{{ {'a': 1}.get('c', 'none') }} ; none",
                "{{ [3, 1][::-1] | tojson }} ; [1, 3]",
                "{% set a, b = [1, 2] %}{{ a + b }} ; 3",
                "{{ range(3) | list | tojson }} ; [0, 1, 2]",
            })
    void render_expression_follows(String template, String expected) {
        Map<String, MarkedText> variables = Map.of("x", MarkedText.untrusted(" ab "));
        assertThat(JinjaTemplate.parse(template.strip()).render(variables).text())
                .isEqualTo(expected);
    }

    @Test
    void render_textFromOutside_isMarkedExactly() {
        Map<String, MarkedText> variables = Map.of("x", MarkedText.untrusted(" ab "));
        MarkedText text = JinjaTemplate.parse(
                        "<{{ x | trim }}>{{ 'y' + x[1:2] }}{{ x.upper() }}{{ ['k', x] | tojson }}")
                .render(variables);
        assertThat(text.text()).isEqualTo("<ab>ya AB [\"k\", \" ab \"]");
        assertThat(text.untrusted()).containsExactly(1, 3, 5, text.text().length());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "{{ ~ tag at 0 has no end",
                "{# x ~ comment at 0 has no end",
                "{{ 'x }} ~ string at 3 has no end",
                "{% if x %}a ~ expected: el",
                "{% include 'x' %} ~ block include",
                "{{ 1 + }} ~ expected: an expression",
                "{{ a b }} ~ expected: the end of the tag",
                "{{ x | nothing }} ~ filter nothing",
                "{{ x is odder }} ~ test odder",
                "{{ x.getClass() }} ~ method getClass of a string",
                "{{ y.z }} ~ attribute z of an undefined value",
                "{{ y() }} ~ what is no function",
                "{{ 1 // 0 }} ~ division by zero",
                "{{ 99999999999999999999 }} ~ expected: 64 bits",
                "{{ ? }} ~ character '?' at 3",
            })
    void parseOrRender_badTemplate_saysWhatAndWhere(String template, String message) {
        assertThatThrownBy(() -> JinjaTemplate.parse(template).render(Map.of("x", "text")))
                .isInstanceOf(JinjaException.class)
                .hasMessageContaining(message);
    }

    @Test
    void render_templateThatWouldNotEnd_isStopped() {
        String endless = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
        String growing = "{% set ns = namespace(s='xxxxxxxxxx') %}{% for a in range(60) %}"
                + "{% set ns.s = ns.s + ns.s %}{% endfor %}";
        String recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
        String nested = "{{ " + "(".repeat(5000) + "1" + ")".repeat(5000) + " }}";
        String cyclic = "{% set a = [] %}{% set x = a.append(a) %}{{ a }}";
        for (String template : new String[] {endless, growing, recursive, nested, cyclic}) {
            Assertions.assertTimeoutPreemptively(Duration.ofSeconds(20), () -> assertThatThrownBy(
                            () -> JinjaTemplate.parse(template).render(Map.of()))
                    .isInstanceOf(JinjaException.class));
        }
    }

    @Test
    void parseAndRender_randomlyDamagedTemplates_failOnlyAsTemplates() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        Random random = new Random(seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 200_000 : 5_000;
        for (int round = 0; round < rounds; round++) {
            StringBuilder template =
                    new StringBuilder(JinjaSamples.TEMPLATES.get(random.nextInt(JinjaSamples.TEMPLATES.size())));
            for (int i = random.nextInt(3) + 1; i > 0; i--) {
                int at = random.nextInt(template.length());
                switch (random.nextInt(3)) {
                    case 0 -> template.deleteCharAt(at);
                    case 1 -> template.insert(at, "{}%'()[].|+-:,x1 ".charAt(random.nextInt(17)));
                    default -> template.setCharAt(at, template.charAt(random.nextInt(template.length())));
                }
            }
            Throwable error = catchThrowable(
                    () -> JinjaTemplate.parse(template.toString()).render(JinjaSamples.variables()));
            if (error != null) {
                assertThat(error)
                        .as("seed %d round %d: %s", seed, round, template)
                        .isInstanceOf(JinjaException.class);
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "{{ 5 is divisibleby 0 }} ; zero",
                "{{ 'a,b'.split(',', 9999999999) }} ; integer overflow",
                "{% set a = [1] %}{% set b = [1] %}{{ a.append(b) }}{{ b.append(a) }}{{ a == b }} ; nested too deeply",
                "{% set x = 'a' * 3 %} ; of a string",
            })
    void render_whatPythonWouldRefuse_isAJinjaException(String template, String message) {
        assertThatThrownBy(() -> JinjaTemplate.parse(template).render(Map.of()))
                .isInstanceOf(JinjaException.class)
                .hasMessageContaining(message);
    }

    @Test
    void parse_deepNesting_isAJinjaException() {
        String template = "{{ " + "- ".repeat(200_000) + "1 }}";
        assertThatThrownBy(() -> JinjaTemplate.parse(template).render(Map.of())).isInstanceOf(JinjaException.class);
    }

    @Test
    void render_longTextsOverAndOver_isRefusedSoon() {
        String template = "{% set ns = namespace(x='0123456789abcdef') %}"
                + "{% for i in range(19) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"
                + "{% for i in range(100000) %}{% if ns.x | upper == 'b' %}{% endif %}{% endfor %}";
        long start = System.nanoTime();
        assertThatThrownBy(() -> JinjaTemplate.parse(template).render(Map.of()))
                .isInstanceOf(JinjaException.class)
                .hasMessageContaining("steps");
        assertThat((System.nanoTime() - start) / 1e9)
                .as("seconds; unbounded it takes an hour")
                .isLessThan(60);
    }
}
