// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.djl.ModelExtension;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.ignite.MooncakePluginProvider;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The tiny Llama of a cluster. All that needs DJL is here, so that clusters of plain pools work without it. */
final class TinyModel {
    private TinyModel() {}

    static void write(Path file, long seed) throws IOException {
        TinyLlama.write(file, seed);
    }

    static void add(MooncakePluginProvider plugin, String name, Path file) {
        ModelExtension model = new ModelExtension();
        model.setName(name);
        model.setUri(file.toString());
        model.setThreads(1);
        plugin.setExtensions(List.of(model));
    }
}
