// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Inputs that a coverage-guided fuzzer found worth keeping, in {@code src/test/fuzz/CLASS} of the module: each test run replays them all, and
 * mutations of them. The first byte of an input chooses the decoder.
 */
public final class FuzzCorpus {
    private static final int MUTATIONS = 20_000;
    private static final int LONG_MUTATIONS = 2_000_000;
    private static final int MOST_BYTES = 1 << 16;

    private FuzzCorpus() {}

    /** Hands an input to the decoder that it names. */
    @SafeVarargs
    public static void choose(byte[] input, Consumer<byte[]>... decoders) {
        if (input.length > 0) {
            decoders[(input[0] & 0xff) % decoders.length].accept(Arrays.copyOfRange(input, 1, input.length));
        }
    }

    /** Replays the corpus of {@code type} and random mutations of it. */
    public static void replay(Class<?> type, Consumer<byte[]> target) throws IOException {
        List<byte[]> corpus = new ArrayList<>();
        try (Stream<Path> files = Files.list(Path.of("src/test/fuzz", type.getSimpleName()))) {
            for (Path file : files.sorted().toList()) {
                corpus.add(Files.readAllBytes(file));
            }
        }
        assertThat(corpus).as("kept inputs").isNotEmpty();
        corpus.forEach(input -> run(target, input));
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        int rounds = Boolean.getBoolean("mooncake.long") ? LONG_MUTATIONS : MUTATIONS;
        System.out.println(type.getSimpleName() + " mooncake.seed=" + seed + ", " + corpus.size() + " kept inputs, "
                + rounds + " mutations");
        Random random = new Random(seed);
        for (int i = 0; i < rounds; i++) {
            run(target, mutated(corpus, random));
        }
    }

    private static void run(Consumer<byte[]> target, byte[] input) {
        try {
            target.accept(input);
        } catch (RuntimeException | Error e) {
            throw new AssertionError("input " + HexFormat.of().formatHex(input), e);
        }
    }

    private static byte[] mutated(List<byte[]> corpus, Random random) {
        byte[] input = corpus.get(random.nextInt(corpus.size())).clone();
        for (int changes = 1 + random.nextInt(4); changes > 0 && input.length > 0; changes--) {
            int at = random.nextInt(input.length);
            switch (random.nextInt(6)) {
                case 0 -> input[at] = (byte) random.nextInt();
                case 1 -> input[at] ^= (byte) (1 << random.nextInt(8));
                case 2 -> Arrays.fill(input, at, Math.min(input.length, at + 1 + random.nextInt(8)), (byte) -1);
                case 3 -> input = Arrays.copyOf(input, at);
                case 4 -> input = Arrays.copyOf(input, Math.min(MOST_BYTES, input.length + random.nextInt(64)));
                default -> {
                    byte[] other = corpus.get(random.nextInt(corpus.size()));
                    int from = random.nextInt(other.length + 1);
                    System.arraycopy(other, from, input, at, Math.min(other.length - from, input.length - at));
                }
            }
        }
        return input;
    }
}
