// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.adapter.IgniteAdapter;
import org.apache.ignite.Ignite;
import org.apache.ignite.plugin.PluginNotFoundException;

/** Finds the plugin on a node, or says how to configure it. */
final class MooncakeLookup {
    private MooncakeLookup() {}

    static Mooncake of(Ignite ignite) {
        try {
            return IgniteAdapter.plugin(ignite, Mooncake.PLUGIN_NAME);
        } catch (PluginNotFoundException e) {
            throw new MooncakeException(MooncakeException.Code.NOT_FOUND, """
                    Mooncake is not configured on node %s. Add to its IgniteConfiguration:
                      <property name="pluginProviders"><list>
                        <bean class="io.mooncake.ignite.MooncakePluginProvider">
                          <property name="secret" value="..."/> <property name="dram" value="8GiB"/>
                        </bean>
                      </list></property>""".formatted(ignite.name()), e);
        }
    }
}
