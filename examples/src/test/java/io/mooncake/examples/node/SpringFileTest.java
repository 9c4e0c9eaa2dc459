// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.examples.cli.Refusal;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SpringFileTest {
    private static final String HEAD =
            "<beans xmlns=\"http://www.springframework.org/schema/beans\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
                    + " xsi:schemaLocation=\"http://www.springframework.org/schema/beans"
                    + " http://www.springframework.org/schema/beans/spring-beans.xsd\">"
                    + "<bean class=\"org.springframework.context.support.PropertySourcesPlaceholderConfigurer\"/>";
    private static final String NODE =
            "<bean id=\"node\" class=\"org.apache.ignite.configuration.IgniteConfiguration\">";

    @TempDir
    private Path folder;

    private Path file(String content) throws Exception {
        return Files.writeString(folder.resolve("node.xml"), content);
    }

    private void refused(String content, String... parts) throws Exception {
        Path file = file(content);
        assertThatThrownBy(() -> SpringFile.read(file))
                .isInstanceOf(Refusal.class)
                .message()
                .contains(file.toString())
                .contains(parts)
                .hasLineCount(1);
    }

    @Test
    void read_goodFile_givesTheConfiguration() throws Exception {
        SpringFile read = SpringFile.read(
                file(HEAD + NODE + "<property name=\"igniteInstanceName\" value=\"${none:a}\"/></bean></beans>"));
        assertThat(read.configuration().getIgniteInstanceName()).isEqualTo("a");
        read.context().close();
    }

    @Test
    void read_misspeltProperty_namesFileBeanPropertyAndNearest() throws Exception {
        refused(
                HEAD + NODE + "<property name=\"igniteInstaceName\" value=\"a\"/></bean></beans>",
                "bean node",
                "unknown property igniteInstaceName of org.apache.ignite.configuration.IgniteConfiguration",
                "did you mean igniteInstanceName?");
    }

    @Test
    void read_misspeltPropertyOfAnInnerBean_namesTheInnerOne() throws Exception {
        refused(
                HEAD + NODE
                        + "<property name=\"clientConnectorConfiguration\"><bean class=\"org.apache.ignite.configuration.ClientConnectorConfiguration\">"
                        + "<property name=\"prot\" value=\"1\"/></bean></property></bean></beans>",
                "ClientConnectorConfiguration",
                "unknown property prot",
                "did you mean port?");
    }

    @Test
    void read_valueOfTheWrongType_namesPropertyValueAndType() throws Exception {
        refused(
                HEAD + NODE + "<property name=\"metricsLogFrequency\" value=\"often\"/></bean></beans>",
                "property metricsLogFrequency: often",
                "expected: a value of type long");
    }

    @Test
    void read_unknownClass_namesTheClass() throws Exception {
        refused(HEAD + "<bean class=\"io.mooncake.Nothing\"/></beans>", "class io.mooncake.Nothing");
    }

    @Test
    void read_missingPlaceholder_saysHowToSetIt() throws Exception {
        refused(
                HEAD + NODE
                        + "<property name=\"igniteInstanceName\" value=\"${mooncake.nothing.here}\"/></bean></beans>",
                "nothing sets ${mooncake.nothing.here}",
                "-Dmooncake.nothing.here=VALUE",
                "MOONCAKE_NOTHING_HERE");
    }

    @Test
    void read_brokenXml_namesTheLine() throws Exception {
        refused(HEAD + "\n<bean>\n</beans>", "line 3");
    }

    @Test
    void read_noConfiguration_isRefused() throws Exception {
        refused(HEAD + "</beans>", "IgniteConfiguration", "exactly one");
    }

    @Test
    void read_noFile_isRefused() {
        assertThatThrownBy(() -> SpringFile.read(folder.resolve("none.xml")))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("none.xml");
    }
}
