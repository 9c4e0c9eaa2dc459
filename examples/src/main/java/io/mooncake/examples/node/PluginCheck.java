// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import io.mooncake.base.MooncakeException;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.ignite.MooncakePluginProvider;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.plugin.PluginProvider;

/** Checks the product's own beans before Ignite does anything: options, memory, model files. */
final class PluginCheck {
    private PluginCheck() {}

    /** @throws Refusal that names the file and every violation */
    static void run(SpringFile file) {
        IgniteConfiguration configuration = file.configuration();
        PluginProvider<?>[] providers = configuration.getPluginProviders();
        if (providers == null) {
            return;
        }
        for (PluginProvider<?> provider : providers) {
            if (provider instanceof MooncakePluginProvider ours) {
                try {
                    ours.validate(configuration);
                } catch (MooncakeException e) {
                    throw new Refusal(file.path() + ": " + e.getMessage(), e);
                }
            }
        }
    }
}
