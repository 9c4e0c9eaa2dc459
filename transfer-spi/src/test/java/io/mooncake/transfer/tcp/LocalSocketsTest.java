// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LocalSocketsTest {
    @TempDir
    Path parent;

    private final UUID own = UUID.randomUUID();

    private static PeerAddress address(UUID incarnation) {
        return new PeerAddress(incarnation, "127.0.0.1", 1, 2, 3);
    }

    @Test
    void find_listeningAndClosed_isThereAndGone() throws Exception {
        Path folder = parent.resolve("sockets");
        LocalSockets sockets = new LocalSockets(folder, own);
        LocalSockets others = new LocalSockets(folder, UUID.randomUUID());
        assertThat(others.find(address(own), 2)).isNull();
        try (ServerSocketChannel server = sockets.listen(2)) {
            assertThat(LocalSockets.is(server)).isTrue();
            assertThat(others.find(address(own), 2)).isEqualTo(server.getLocalAddress());
            assertThat(others.find(address(own), 3)).isNull();
            LocalSockets.remove(server);
        }
        assertThat(others.find(address(own), 2)).isNull();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
                .isEqualTo("rwx------");
    }

    @Test
    void listen_orphansAndLiving_removesThoseThatNobodyListensAt() throws Exception {
        LocalSockets killed = new LocalSockets(parent.resolve("s"), UUID.randomUUID());
        Path orphan;
        try (ServerSocketChannel server = killed.listen(2)) {
            orphan = ((UnixDomainSocketAddress) server.getLocalAddress()).getPath();
        }
        LocalSockets living = new LocalSockets(parent.resolve("s"), UUID.randomUUID());
        try (ServerSocketChannel server = living.listen(2)) {
            Path alive = ((UnixDomainSocketAddress) server.getLocalAddress()).getPath();
            assertThat(orphan).as("young, so perhaps not listening yet").exists();
            FileTime old = FileTime.fromMillis(System.currentTimeMillis() - 60_000);
            Files.setLastModifiedTime(orphan, old);
            Files.setLastModifiedTime(alive, old);
            try (ServerSocketChannel third = new LocalSockets(parent.resolve("s"), own).listen(2)) {
                assertThat(third).isNotNull();
                assertThat(orphan).doesNotExist();
                assertThat(alive).exists();
            }
        }
    }

    @Test
    void listen_folderOfOthersOrTooLongAName_isNotUsed() throws Exception {
        Path open = Files.createDirectory(parent.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThat(new LocalSockets(open, own).listen(2)).isNull();
        assertThat(new LocalSockets(parent.resolve("n".repeat(90)), own).listen(2))
                .isNull();
        Path file = Files.createFile(parent.resolve("file"));
        assertThat(new LocalSockets(file, own).listen(2)).isNull();
    }
}
