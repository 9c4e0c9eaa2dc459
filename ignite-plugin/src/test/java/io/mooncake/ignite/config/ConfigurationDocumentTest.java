// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.SsdTier;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.junit.jupiter.api.Test;

/** docs/configuration.md says what the code does. */
class ConfigurationDocumentTest {
    private static final Path DOCUMENT = Path.of("../docs/configuration.md");

    /** Rows of the table under the heading that names {@code bean}: name to cells. */
    private static Map<String, List<String>> table(Class<?> bean) throws IOException {
        Map<String, List<String>> rows = new LinkedHashMap<>();
        boolean inside = false;
        for (String line : Files.readAllLines(DOCUMENT)) {
            if (line.startsWith("## ")) {
                inside = line.contains("`" + bean.getName() + "`");
            } else if (inside && line.startsWith("| ") && !line.startsWith("| name | unit ")) {
                List<String> cells = List.of(
                                line.substring(1, line.length() - 1).split("\\|"))
                        .stream()
                        .map(String::strip)
                        .toList();
                rows.put(cells.get(0), cells);
            }
        }
        return rows;
    }

    @Test
    void plugin_tableEqualsOptions() throws IOException {
        Map<String, List<String>> table = table(MooncakePluginProvider.class);
        assertThat(table.keySet())
                .containsExactlyElementsOf(
                        ConfigurationNames.OPTIONS.stream().map(Option::name).toList());
        for (Option option : ConfigurationNames.OPTIONS) {
            assertThat(table.get(option.name()))
                    .as(option.name())
                    .containsExactly(
                            option.name(),
                            option.unit(),
                            option.defaultValue(),
                            option.range(),
                            option.reloads() ? "yes" : "no");
        }
    }

    @Test
    void plugin_optionsEqualSettersAndDefaults() throws ReflectiveOperationException {
        assertThat(ConfigurationNames.properties(MooncakePluginProvider.class))
                .isEqualTo(List.copyOf(new TreeSet<>(
                        ConfigurationNames.OPTIONS.stream().map(Option::name).toList())));
        PluginOptions defaults = new PluginOptions();
        for (Option option : ConfigurationNames.OPTIONS) {
            Field field = PluginOptions.class.getField(option.name());
            if (field.getType().isPrimitive()) {
                assertThat(option.defaultValue()).as(option.name()).isEqualTo(String.valueOf(field.get(defaults)));
            }
        }
    }

    @Test
    void ssd_tableEqualsSetters() throws IOException {
        assertThat(new TreeSet<>(table(SsdTier.class).keySet()))
                .containsExactlyElementsOf(ConfigurationNames.properties(SsdTier.class));
    }

    @Test
    void pool_tableEqualsSetters() throws IOException, ReflectiveOperationException {
        Map<String, List<String>> table = table(PoolBean.class);
        assertThat(new TreeSet<>(table.keySet()))
                .containsExactlyElementsOf(ConfigurationNames.properties(PoolBean.class));
        for (String name : List.of("engineLayout", "rope", "mode", "dataType", "blockTokens")) {
            Field field = PoolBean.class.getDeclaredField(name);
            field.setAccessible(true);
            assertThat(table.get(name).get(2)).as(name).isEqualTo(String.valueOf(field.get(new PoolBean())));
        }
    }

    @Test
    void spi_tableEqualsItsOwnSettersAndDefaults() throws IOException {
        Map<String, List<String>> table = table(TransferCommunicationSpi.class);
        TreeSet<String> own = new TreeSet<>(ConfigurationNames.properties(TransferCommunicationSpi.class));
        own.removeAll(ConfigurationNames.properties(TcpCommunicationSpi.class));
        assertThat(new TreeSet<>(table.keySet())).isEqualTo(own);
        TransferCommunicationSpi spi = new TransferCommunicationSpi();
        assertThat(table.get("transferPortFrom").get(2)).isEqualTo("" + spi.getTransferPortFrom());
        assertThat(table.get("transferPortTo").get(2)).isEqualTo("" + spi.getTransferPortTo());
        assertThat(table.get("connectionsPerPeer").get(2)).isEqualTo("" + spi.getConnectionsPerPeer());
        assertThat(table.get("maxLeaseMillis").get(2)).isEqualTo("" + spi.getMaxLeaseMillis());
    }
}
