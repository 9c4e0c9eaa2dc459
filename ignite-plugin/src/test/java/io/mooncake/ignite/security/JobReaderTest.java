// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.management.BadAttributeValueExpException;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.junit.jupiter.api.Test;

/** A class that is not listed never comes to life, whatever it is hidden in. */
class JobReaderTest {
    private static final JobClasses NONE = new JobClasses(List.of());

    private static byte[] bytes(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        return bytes.toByteArray();
    }

    private static Object read(byte[] bytes, JobClasses classes) throws IOException, ClassNotFoundException {
        return JobReader.read(bytes, classes, name -> load(name));
    }

    private static Class<?> load(String name) throws ClassNotFoundException {
        return Class.forName(name, false, JobReaderTest.class.getClassLoader());
    }

    private static Object copy(Object object) throws IOException, ClassNotFoundException {
        return read(bytes(object), NONE);
    }

    private interface Word extends Supplier<String>, Serializable {}

    private enum Colour {
        RED
    }

    /** An exception of ours that holds something. */
    private static final class Carrier extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @SuppressWarnings("unused") // it is what travels
        private final Serializable held;

        Carrier(Serializable held) {
            this.held = held;
        }
    }

    @Test
    void read_valuesOfTheJdk_areEqual() throws Exception {
        Map<String, Object> map = new HashMap<>(Map.of("a", 1, "b", List.of(2L, "c")));
        for (Object value : List.of(
                map,
                new TreeMap<>(map),
                new ConcurrentHashMap<>(map),
                new ArrayList<>(List.of(1.5, 'x', (byte) 3)),
                EnumSet.of(TimeUnit.DAYS),
                Colour.RED,
                UUID.randomUUID(),
                Duration.ofMillis(7),
                new BigDecimal("1.5"),
                URI.create("http://localhost"),
                new InetSocketAddress("127.0.0.1", 1),
                Optional.class)) {
            assertThat(copy(value)).as(value.getClass().getName()).isEqualTo(value);
        }
        assertThat((int[][]) copy(new int[][] {{1}, {2, 3}})).isDeepEqualTo(new int[][] {{1}, {2, 3}});
        String text = "captured";
        assertThat(((Word) copy((Word) () -> text)).get()).isEqualTo("captured");
    }

    @Test
    void read_failures_travelAsWhatTheyAre() throws Exception {
        RuntimeException failure = new CompletionException(new ClusterTopologyException("gone"));
        failure.addSuppressed(new IOException("also"));

        Throwable seen = (Throwable) copy(failure);

        assertThat(seen).isInstanceOf(CompletionException.class).hasCauseInstanceOf(ClusterTopologyException.class);
        assertThat(seen.getSuppressed()).hasAtLeastOneElementOfType(IOException.class);
    }

    @Test
    void read_unlistedClass_isDeniedByNameAndNotLoaded() throws Exception {
        URL unlisted = new URL("http://localhost");
        for (Object hidden : List.of(
                unlisted,
                new Object[] {unlisted},
                new HashMap<>(Map.of("key", unlisted)),
                new RuntimeException("wraps", new Carrier(unlisted)))) {
            byte[] bytes = bytes(hidden);
            List<String> loaded = new ArrayList<>();

            assertThatThrownBy(() -> JobReader.read(bytes, NONE, name -> {
                        loaded.add(name);
                        return load(name);
                    }))
                    .isInstanceOfSatisfying(
                            MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.DENIED))
                    .hasMessageContaining("java.net.URL")
                    .hasMessageContaining("jobClasses");
            assertThat(loaded).doesNotContain("java.net.URL");
            assertThat(read(bytes, new JobClasses(List.of("java.net.URL")))).isNotNull();
        }
    }

    @Test
    void read_exceptionOfAnotherPlace_isDenied() {
        assertThatThrownBy(() -> copy(new BadAttributeValueExpException("x")))
                .hasMessageContaining("BadAttributeValueExpException");
    }

    @Test
    void read_dynamicProxy_isRefused() {
        InvocationHandler handler = (InvocationHandler & Serializable) (proxy, method, args) -> "";
        Object proxy = Proxy.newProxyInstance(
                JobReaderTest.class.getClassLoader(), new Class<?>[] {Comparable.class}, handler);

        assertThatThrownBy(() -> copy(proxy)).isInstanceOf(IOException.class).hasMessageContaining("proxy");
    }

    @Test
    void read_arrayThatClaimsMoreThanThereIs_isRefusedBeforeItIsMade() throws Exception {
        for (Object array : List.of(new long[3], new int[3], new byte[3], new String[3])) {
            byte[] bytes = bytes(array);
            // The length stands before the elements, which are the last bytes.
            int elements = array instanceof long[] ? 24 : array instanceof int[] ? 12 : 3;
            ByteBuffer.wrap(bytes).putInt(bytes.length - elements - 4, 1 << 30);

            assertThatThrownBy(() -> read(bytes, NONE))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("REJECTED");
        }
    }

    @Test
    void read_nestedWithoutEnd_isRefused() throws Exception {
        List<Object> nested = new ArrayList<>();
        for (int i = 0; i < 210; i++) {
            nested = new ArrayList<>(List.of(nested));
        }
        byte[] bytes = bytes(nested);

        assertThatThrownBy(() -> read(bytes, NONE))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("REJECTED");
    }

    @Test
    void read_damagedBytes_areAnErrorAtMost() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("JobReaderTest seed=" + seed);
        Random random = new Random(seed);
        byte[] good = bytes(new HashMap<>(Map.of("a", List.of(1, 2), "b", new int[] {1, 2, 3})));
        for (int i = 0; i < 3_000; i++) {
            byte[] bytes = good.clone();
            for (int change = random.nextInt(4); change >= 0; change--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                read(bytes, NONE);
            } catch (IOException | ClassNotFoundException | RuntimeException e) {
                // As it has to be; an Error is none of these.
            }
        }
    }

    @Test
    void allows_patterns_meanWhatTheySay() {
        JobClasses classes = new JobClasses(List.of("com.acme.Job", "com.acme.kv.*", "com.other.**"));

        assertThat(List.of("com.acme.Job", "com.acme.Job$Inner", "com.acme.kv.A", "com.other.B", "com.other.deep.C"))
                .allMatch(classes::allows);
        assertThat(List.of(
                        "com.acme.Jobs",
                        "com.acme.Other",
                        "com.acme.kv.deep.A",
                        "com.others.B",
                        "java.lang.reflect.Proxy"))
                .noneMatch(classes::allows);
        assertThat(classes.allows("[[Lcom.acme.Job;")).isTrue();
        assertThat(classes.allows("[Lcom.acme.Other;")).isFalse();
        assertThat(classes.allows("[[J")).isTrue();
        assertThat(new JobClasses(List.of("**")).allows("any.Thing")).isTrue();
    }
}
