// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Unix domain sockets beside the ports of the control plane, for engines of one user on one machine. They are found by their names: folder,
 * incarnation and port of a {@link PeerAddress}; where there is no such file, in another container for example, the port is used.
 *
 * <p>The handshake is the same as that of a port. The folder belongs to this user alone, so nobody else can put a socket of his there.
 * Threading: safe for all threads. Control plane: it may block, log and allocate.
 */
public final class LocalSockets {
    private static final Logger LOG = LoggerFactory.getLogger(LocalSockets.class);
    private static final String ENDING = ".sock";
    /** The kernel's limit is 107. */
    private static final int MAX_PATH_BYTES = 100;

    private static final UUID NOBODY = new UUID(0, 0);
    private static final int MAX_LOOKED_AT = 256;
    /** A younger file may be of an engine that has not begun to listen. */
    private static final long LEAST_AGE_MILLIS = 10_000;

    private final Path folder;
    private final UUID own;
    private final AtomicBoolean cleaned = new AtomicBoolean();
    private volatile boolean usable;

    /**
     * @param folder made when it is missing
     * @param own incarnation of the engine whose ports these are
     */
    public LocalSockets(Path folder, UUID own) {
        this.folder = folder;
        this.own = own;
        this.usable = prepare();
    }

    /**
     * The folder of this user, among temporary files.
     *
     * @param kernel what tells the running kernel from others that may see the same files
     */
    public static Path defaultFolder(String kernel) {
        String user = System.getProperty("user.name", "nobody");
        String start = kernel.substring(0, Math.min(8, kernel.length()));
        String name = "mooncake-" + user + "-" + start;
        Path folder = Path.of(System.getProperty("java.io.tmpdir", "/tmp"), name);
        return fits(folder) ? folder : Path.of("/tmp", name);
    }

    private static boolean fits(Path folder) {
        return path(folder, NOBODY, 65535).toString().length() <= MAX_PATH_BYTES;
    }

    static boolean is(ServerSocketChannel server) {
        try {
            return server.getLocalAddress() instanceof UnixDomainSocketAddress;
        } catch (IOException e) {
            return false;
        }
    }

    private boolean prepare() {
        try {
            Files.createDirectories(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            if (!oursAlone()) {
                LOG.info("No local sockets: {} is not this user's alone", folder);
                return false;
            }
            if (!fits(folder)) {
                LOG.info("No local sockets: {} is too long a name", folder);
                return false;
            }
            return true;
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            LOG.info("No local sockets in {}: {}", folder, e.toString());
            return false;
        }
    }

    private boolean oursAlone() throws IOException {
        Object owner = Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        Object self = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        String rights = PosixFilePermissions.toString(Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS));
        return owner.equals(self) && rights.endsWith("------") && Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS);
    }

    private Path path(UUID incarnation, int port) {
        return path(folder, incarnation, port);
    }

    private static Path path(Path folder, UUID incarnation, int port) {
        return folder.resolve(incarnation + "-" + port + ENDING);
    }

    /** Listens beside a port of this engine; null where that can't be. */
    @Nullable
    ServerSocketChannel listen(int port, int backlog) {
        if (!usable) {
            return null;
        }
        ServerSocketChannel server = null;
        try {
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(UnixDomainSocketAddress.of(path(own, port)), backlog);
            if (!cleaned.getAndSet(true)) {
                removeOrphans(Files.getLastModifiedTime(path(own, port)));
            }
            return server;
        } catch (IOException | UnsupportedOperationException e) {
            LOG.info("No local socket beside port {}: {}", port, e.toString());
            if (server != null) {
                Quietly.close(server);
            }
            usable = false;
            return null;
        }
    }

    /** Where the peer listens on this machine, or null. */
    @Nullable
    SocketAddress find(PeerAddress peer, int port) {
        if (!usable) {
            return null;
        }
        Path path = path(peer.incarnation(), port);
        try {
            // Asked each time: folders for temporary files are cleaned, and then anybody may make one of that name.
            boolean there = Files.exists(path, LinkOption.NOFOLLOW_LINKS) && oursAlone();
            return there ? UnixDomainSocketAddress.of(path) : null;
        } catch (IOException e) {
            return null;
        }
    }

    /** The file of a socket that was closed. */
    static void remove(ServerSocketChannel server) {
        try {
            if (server.getLocalAddress() instanceof UnixDomainSocketAddress address) {
                Files.deleteIfExists(address.getPath());
            }
        } catch (IOException e) {
            LOG.debug("A local socket's file stays", e);
        }
    }

    /** Removes what engines that were killed left: files that nobody listens at. */
    private void removeOrphans(FileTime now) {
        int looked = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + ENDING)) {
            for (Path file : files) {
                if (++looked > MAX_LOOKED_AT) {
                    return;
                }
                FileTime made = Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS);
                boolean old = now.toMillis() - made.toMillis() > LEAST_AGE_MILLIS;
                if (old && !file.getFileName().toString().startsWith(own.toString()) && orphan(file)) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException | RuntimeException e) {
            LOG.debug("Orphans in {} stay", folder, e);
        }
    }

    private static boolean orphan(Path file) {
        try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            // Who listens may be stopped, with as many waiting for it as may: then this is another exception.
            probe.configureBlocking(false);
            probe.connect(UnixDomainSocketAddress.of(file));
            return false;
        } catch (ConnectException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
