// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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
        try (ServerSocketChannel server = sockets.listen(2, 2)) {
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
        try (ServerSocketChannel server = killed.listen(2, 2)) {
            orphan = ((UnixDomainSocketAddress) server.getLocalAddress()).getPath();
        }
        LocalSockets living = new LocalSockets(parent.resolve("s"), UUID.randomUUID());
        try (ServerSocketChannel server = living.listen(2, 2)) {
            Path alive = ((UnixDomainSocketAddress) server.getLocalAddress()).getPath();
            assertThat(orphan).as("young, so perhaps not listening yet").exists();
            FileTime old = FileTime.fromMillis(System.currentTimeMillis() - 60_000);
            Files.setLastModifiedTime(orphan, old);
            Files.setLastModifiedTime(alive, old);
            try (ServerSocketChannel third = new LocalSockets(parent.resolve("s"), own).listen(2, 2)) {
                assertThat(third).isNotNull();
                assertThat(orphan).doesNotExist();
                assertThat(alive).exists();
            }
        }
    }

    /** As of an engine that is stopped: whoever connects waits for ever. */
    @Test
    @Timeout(20)
    void listen_anotherTakesNoMoreConnections_doesNotWaitForIt() throws Exception {
        LocalSockets stopped = new LocalSockets(parent.resolve("s"), UUID.randomUUID());
        List<SocketChannel> waiting = new ArrayList<>();
        try (ServerSocketChannel server = stopped.listen(2, 2)) {
            Path path = ((UnixDomainSocketAddress) server.getLocalAddress()).getPath();
            Files.setLastModifiedTime(path, FileTime.fromMillis(System.currentTimeMillis() - 60_000));
            for (int i = 0; i < 5; i++) {
                SocketChannel one = SocketChannel.open(StandardProtocolFamily.UNIX);
                waiting.add(one);
                one.configureBlocking(false);
                try {
                    one.connect(server.getLocalAddress());
                } catch (SocketException full) {
                    break;
                }
            }
            try (ServerSocketChannel mine = new LocalSockets(parent.resolve("s"), own).listen(2, 2)) {
                assertThat(mine).isNotNull();
                assertThat(path).exists();
            }
        } finally {
            for (SocketChannel one : waiting) {
                one.close();
            }
        }
    }

    @Test
    void find_folderOpenedToOthersMeanwhile_isNotUsed() throws Exception {
        LocalSockets sockets = new LocalSockets(parent.resolve("s"), own);
        try (ServerSocketChannel server = sockets.listen(2, 2)) {
            assertThat(sockets.find(address(own), 2)).isEqualTo(server.getLocalAddress());
            Files.setPosixFilePermissions(parent.resolve("s"), PosixFilePermissions.fromString("rwxrwxrwx"));
            assertThat(sockets.find(address(own), 2)).isNull();
        }
    }

    @Test
    void listen_folderOfOthersOrTooLongAName_isNotUsed() throws Exception {
        Path open = Files.createDirectory(parent.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThat(new LocalSockets(open, own).listen(2, 2)).isNull();
        assertThat(new LocalSockets(parent.resolve("n".repeat(90)), own).listen(2, 2))
                .isNull();
        Path file = Files.createFile(parent.resolve("file"));
        assertThat(new LocalSockets(file, own).listen(2, 2)).isNull();
    }
}
