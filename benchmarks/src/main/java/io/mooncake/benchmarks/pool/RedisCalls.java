// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.examples.cli.Refusal;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Redis over one connection; a batch is a pipeline, which is the fastest that one client does. */
final class RedisCalls implements Calls {
    private final Socket socket;
    private final OutputStream out;
    private final DataInputStream in;
    private final byte[] value;
    private final byte[] taken;
    private long next;
    private long from;
    private int count;

    RedisCalls(int port, int size) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setTcpNoDelay(true);
        out = new BufferedOutputStream(socket.getOutputStream(), 64 << 10);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 64 << 10));
        value = new byte[size];
        taken = new byte[size];
    }

    @Override
    public void begin(int values) {
        from = next;
        next += values;
        count = values;
    }

    @Override
    public void put(int first, int batch) throws IOException {
        for (int i = 0; i < batch; i++) {
            send("SET", first + i, value);
        }
        out.flush();
        for (int i = 0; i < batch; i++) {
            require(line().equals("+OK"), "SET");
        }
    }

    @Override
    public void fill() throws IOException {
        for (int i = 0; i < count; i++) {
            put(i, 1);
        }
    }

    @Override
    public void get(int first, int batch) throws IOException {
        for (int i = 0; i < batch; i++) {
            send("GET", first + i, null);
        }
        out.flush();
        for (int i = 0; i < batch; i++) {
            require(line().equals("$" + taken.length), "GET");
            in.readFully(taken);
            require(line().isEmpty(), "GET");
        }
    }

    @Override
    public void exists(int first, int batch) throws IOException {
        for (int i = 0; i < batch; i++) {
            send("EXISTS", first + i, null);
        }
        out.flush();
        for (int i = 0; i < batch; i++) {
            require(line().equals(":1"), "EXISTS");
        }
    }

    @Override
    public void clear() throws IOException {
        out.write("*1\r\n$7\r\nFLUSHDB\r\n".getBytes(StandardCharsets.US_ASCII));
        out.flush();
        require(line().equals("+OK"), "FLUSHDB");
    }

    private void send(String command, int index, byte @org.jspecify.annotations.Nullable [] with) throws IOException {
        String key = "k" + (from + index);
        out.write(("*" + (with == null ? 2 : 3) + "\r\n$" + command.length() + "\r\n" + command + "\r\n$" + key.length()
                        + "\r\n" + key + "\r\n")
                .getBytes(StandardCharsets.US_ASCII));
        if (with != null) {
            out.write(("$" + with.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            out.write(with);
            out.write("\r\n".getBytes(StandardCharsets.US_ASCII));
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int at = in.read(); at != '\r'; at = in.read()) {
            if (at < 0) {
                throw new Refusal("Redis closed the connection");
            }
            line.append((char) at);
        }
        require(in.read() == '\n', "an answer");
        return line.toString();
    }

    private static void require(boolean right, String command) {
        if (!right) {
            throw new Refusal("Redis: " + command + " was not answered as expected");
        }
    }
}
