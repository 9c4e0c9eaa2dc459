// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.base.ByteSize;
import io.mooncake.ignite.security.RestModule;
import io.mooncake.transfer.TransferEngineConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the product itself needs: libraries, the model, ports. */
final class ProductFindings {
    private ProductFindings() {}

    static List<Finding> all(Path model, Map<String, String> libraries) {
        List<Finding> found = new ArrayList<>();
        libraries.forEach((name, version) -> found.add(Finding.present(name, version)));
        found.add(restModule(ProductFindings.class.getResource(RestModule.CLASS)));
        found.add(model(model));
        TransferEngineConfig engine = TransferEngineConfig.of("127.0.0.1", "not a secret, no engine starts here");
        found.add(ports("Ports, discovery", 47500, 47509));
        found.add(ports("Ports, communication", 47100, 47199));
        found.add(ports("Ports, transfer", engine.portFrom(), engine.portTo()));
        found.add(ports("Ports, SQL and thin", 10800, 10899));
        return found;
    }

    /** {@code restClass} is where the class path has the module's main class; null when it has none. */
    static Finding restModule(@Nullable URL restClass) {
        if (restClass == null) {
            return Finding.present("Ignite REST module", "not on the class path, as it should be");
        }
        return RestModule.risk(restClass)
                .map(risk -> Finding.warning("Ignite REST module", risk))
                .orElseGet(() -> Finding.present("Ignite REST module", restClass.toString()));
    }

    static Finding model(Path file) {
        if (!Files.exists(file)) {
            return Finding.absent("Model", file + " is not downloaded yet; ./mooncake demo does that (93 MB)");
        }
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer magic = ByteBuffer.allocate(4);
            boolean gguf =
                    channel.read(magic) == 4 && new String(magic.array(), StandardCharsets.US_ASCII).equals("GGUF");
            return gguf
                    ? Finding.present("Model", file + ", " + ByteSize.format(channel.size()))
                    : Finding.warning("Model", file + " is no GGUF file; delete it to download it again");
        } catch (IOException e) {
            return Finding.warning("Model", file + " cannot be read: " + e.getMessage());
        }
    }

    static Finding ports(String topic, int from, int to) {
        int free = 0;
        for (int port = from; port <= to; port++) {
            free += free(port) ? 1 : 0;
        }
        int all = to - from + 1;
        String text = from + ".." + to + ": " + free + " of " + all + " free";
        return free == all ? Finding.present(topic, text) : Finding.warning(topic, text);
    }

    private static boolean free(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            // As Ignite binds: a port whose last connection lingers counts as free.
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress((InetAddress) null, port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
