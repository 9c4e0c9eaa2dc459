// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.util.List;
import java.util.Map;

/** Templates that use what published chat templates use, and the variables they are rendered with. */
final class JinjaSamples {
    private JinjaSamples() {}

    static Map<String, Object> variables() {
        return Map.of(
                "messages",
                List.of(
                        Map.of("role", "system", "content", " Be brief. "),
                        Map.of("role", "user", "content", "What is\n2 + 2?"),
                        Map.of("role", "assistant", "content", "<think>hm</think>\n\n4"),
                        Map.of("role", "user", "content", "Sure? ")),
                "add_generation_prompt",
                true,
                "bos_token",
                "<s>",
                "eos_token",
                "</s>",
                "numbers",
                List.of(1, 2, 3, 4));
    }

    static final List<String> TEMPLATES = List.of(
            // Markers around roles, a default system turn, trimmed contents.
            """
            {%- for message in messages %}
                {%- if loop.index0 == 0 and message.role != 'system' -%}
                    <|system|>{{ 'none' }}
                {%- endif %}
                {{- '<|' + message['role'] + '|>\\n' + message['content'] | trim + eos_token + '\\n' }}
            {%- endfor %}
            {%- if add_generation_prompt %}
                {{- '<|assistant|>\\n' }}
            {%- endif %}
            """,
            // The system turn folded into the first question, alternation checked.
            """
            {{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}\
            {% set system_message = messages[0]['content'].strip() + '\\n\\n' %}{% else %}\
            {% set loop_messages = messages %}{% set system_message = '' %}{% endif %}\
            {% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
            {{ raise_exception('roles must alternate') }}{% endif %}{% if loop.index0 == 0 %}\
            {% set content = system_message + message['content'] %}{% else %}\
            {% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}\
            {{ '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}\
            {{ ' ' + content | trim + ' ' + eos_token }}{% endif %}{% endfor %}""",
            // Namespaces, reversed walks, splitting off what the model thought.
            """
            {%- set ns = namespace(last=-1, found=false) %}
            {%- for message in messages[::-1] %}
                {%- set index = (messages|length - 1) - loop.index0 %}
                {%- if not ns.found and message.role == "user" and message.content is string %}
                    {%- set ns.found = true %}
                    {%- set ns.last = index %}
                {%- endif %}
            {%- endfor %}
            {%- for message in messages %}
                {%- set content = message.content %}
                {%- if '</think>' in content %}
                    {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
                {%- endif %}
                {{- loop.index ~ '/' ~ ns.last ~ ':' ~ content }}
            {%- endfor %}
            """,
            // Undefined things and defaults.
            """
            {% if tools is defined and tools %}tools{% else %}no tools{% endif %}
            {% if not date_string is defined %}{% set date_string = "26 Jul 2024" %}{% endif %}
            {{ date_string }} {{ missing | default('fallback') }} {{ 'y' if none is none else 'n' }}{{ 'y' if messages is iterable else 'n' }}
            """,
            // Macros and captured blocks.
            """
            {%- macro turn(role, text='-') -%}
            [{{ role | upper }}]{{ text }}
            {%- endmacro -%}
            {% set head %}{{ turn('a', 'b') }}{{ turn('c') }}{% endset %}
            {{- head }}{{ head | length }}""",
            // Loops with conditions, else, unpacking, control.
            """
            {% for n in numbers if n % 2 == 0 %}{{ n }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}
            {% for n in [] %}x{% else %}empty{% endfor %}
            {% for k, v in {'a': 1, 'b': 'two'}.items() %}{{ k }}={{ v }};{% endfor %}
            {% for n in numbers %}{% if n == 2 %}{% continue %}{% endif %}{% if n == 4 %}{% break %}{% endif %}{{ n }}{% endfor %}
            """,
            // White space: comments, plus and minus signs, indentation, text after blocks.
            """
            a
              {# a comment #}
              {% if true %}
                b
              {% endif %}
              {%- if true -%}
              c
              {%- endif %}
            x {% if true %} y {% endif %} z
            {{ 'd' }}
            e""",
            // Values.
            """
            {{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ 7 % 3 }} {{ 1 if 'a' in 'abc' else 0 }} {{ 1 if 3 not in numbers else 0 }} {{ 'x' if false else 'y' }}
            {{ [1, 'two', none, true] | tojson }} {{ {'k': [1, {'n': "q\\"uote"}]} | tojson }}
            {{ ['a', 'b'] | join('-') }} {{ numbers | first }} {{ numbers | last }} {{ 'abc'[1] }} {{ 'abcdef'[1:-1] }}
            {{ 'Hello World'.lower() }} {{ 'hello' | capitalize }} {{ 'a b c'.split(' ') | length }} {{ "it's" }}
            {{ 'ab' 'cd' }} {{ 1 if 'x'.startswith('x') and not 'x'.endswith('y') else 0 }} {{ 'aXbX' | replace('X', '.') }}
            {{ (1, 2) | length }} {{ 1 if 2 is even else 0 }} {{ numbers[-1] }} {{ 1 if 1 < 2 and 2 >= 2 else 0 }} {{ 1 if not (1 == 2 or 3 != 3) else 0 }}
            """);
}
