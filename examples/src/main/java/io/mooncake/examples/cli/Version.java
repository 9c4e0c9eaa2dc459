// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import io.mooncake.examples.report.Versions;
import picocli.CommandLine.IVersionProvider;

/** What {@code --version} prints. */
final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
        return new String[] {"mooncake " + Versions.product() + " on Java " + System.getProperty("java.version")};
    }
}
