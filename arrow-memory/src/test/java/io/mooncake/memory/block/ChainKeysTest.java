// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.natives.ChainHash;
import io.mooncake.natives.NativeBridge;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Also the identities that other tests flip. */
public class ChainKeysTest {
    private static final Path JDKS = Path.of("/usr/lib/jvm");
    private static final Pattern JDK_VERSION = Pattern.compile("(?m)^JAVA_VERSION=\"(\\d+)");
    private static final String A64 = "ab".repeat(32);
    private static final String C64 = "cd".repeat(32);
    private static final KvIdentity PLAIN = new KvIdentity(
            A64,
            C64,
            "",
            "djl-pytorch-2.7.1/llama-1",
            "rope(base=10000,dims=64,style=halves)",
            ReuseMode.EXACT,
            KvDataType.F32,
            30,
            3,
            64,
            64,
            1,
            0);
    private static final KvIdentity OTHER = new KvIdentity(
            A64,
            C64,
            "0f".repeat(32),
            "mot\u00f6r \u20ac \uD83D\uDE00",
            "rope(base=10000,dims=64,style=halves)",
            ReuseMode.FAST,
            KvDataType.BF16,
            2,
            1,
            4,
            2,
            4,
            3);

    @Test
    void keys_goldenVectors_equalThoseOfAnotherProgram() throws IOException {
        Properties golden = new Properties();
        try (InputStream in = ChainKeysTest.class.getResourceAsStream("chain-keys-v1.properties")) {
            golden.load(in);
        }
        int[] count = IntStream.range(0, 64).toArray();
        int[] largest = IntStream.generate(() -> Integer.MAX_VALUE).limit(64).toArray();
        byte[] longSalt = new byte[100];
        for (int i = 0; i < longSalt.length; i++) {
            longSalt[i] = (byte) i;
        }
        for (ChainKeys keys : both()) {
            Properties made = new Properties();
            put(made, keys, "a", PLAIN, new byte[0], count, largest);
            put(made, keys, "a0", PLAIN, new byte[] {0}, count);
            put(made, keys, "along", PLAIN, longSalt, count);
            put(
                    made,
                    keys,
                    "b",
                    OTHER,
                    "salt".getBytes(StandardCharsets.US_ASCII),
                    new int[] {0, 1},
                    new int[] {49151, 7},
                    new int[] {1, 0});
            assertThat(made).isEqualTo(golden);
        }
    }

    /** One that hashes in Java, and one that hashes in C where that can be. */
    private static List<ChainKeys> both() {
        ChainKeys inJava = new ChainKeys(false);
        return ChainHash.available() ? List.of(inJava, new ChainKeys(true)) : List.of(inJava);
    }

    /** Blocks of all sizes, with lengths that end in each place of a hash block, in more than one copy and more than one batch. */
    @Test
    void chain_randomTokens_inCEqualsInJava() {
        assumeTrue(ChainHash.available(), "no SHA-256 in C here: " + NativeBridge.availability());
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("chain keys: -Dmooncake.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        ChainKeys inC = new ChainKeys(true);
        ChainKeys inJava = new ChainKeys(false);
        for (int trial = 0; trial < 400; trial++) {
            int blockTokens = trial < 140 ? 1 + trial : trial < 240 ? 16 : 1 + random.nextInt(4200);
            int blocks = random.nextInt(Math.max(2, Math.min(600, 20_000 / blockTokens)));
            int offset = random.nextInt(40);
            int[] tokens = random.ints(offset + blocks * blockTokens + random.nextInt(3))
                    .toArray();
            BlockKey parent = new BlockKey(random.nextLong(), random.nextLong(), random.nextLong(), random.nextLong());
            BlockKey[] chain = inC.chain(parent, tokens, offset, blockTokens, blocks);
            assertThat(chain)
                    .as("%d blocks of %d from %d", blocks, blockTokens, offset)
                    .isEqualTo(inJava.chain(parent, tokens, offset, blockTokens, blocks));
            BlockKey key = parent;
            for (int i = 0; i < Math.min(blocks, 20); i++) {
                key = inC.next(key, tokens, offset + i * blockTokens, blockTokens);
                assertThat(key).isEqualTo(chain[i]);
            }
        }
    }

    @Test
    void chain_tokensTooShort_isRefused() {
        for (ChainKeys keys : both()) {
            BlockKey root = ChainKeys.root(PLAIN, new byte[0]);
            assertThatThrownBy(() -> keys.chain(root, new int[31], 0, 16, 2))
                    .hasMessage("blocks: 2 of 16 from token 0 (expected: within 31)");
            assertThatThrownBy(() -> keys.chain(root, new int[40], -1, 16, 2)).isInstanceOf(MooncakeException.class);
            assertThatThrownBy(() -> keys.chain(root, new int[40], 0, 16, 1 << 28))
                    .isInstanceOf(MooncakeException.class);
            assertThatThrownBy(() -> keys.next(root, new int[16], 1, 16)).isInstanceOf(MooncakeException.class);
            assertThat(keys.chain(root, new int[40], 40, 16, 0)).isEmpty();
        }
    }

    private static void put(
            Properties made, ChainKeys keys, String name, KvIdentity identity, byte[] salt, int[]... blocks) {
        made.put(name + ".identity", HexFormat.of().formatHex(ChainKeys.identityDigest(identity)));
        BlockKey key = ChainKeys.root(identity, salt);
        made.put(name + ".root", key.hex());
        for (int i = 0; i < blocks.length; i++) {
            key = keys.next(key, blocks[i], 0, blocks[i].length);
            made.put(name + "." + i, key.hex());
        }
    }

    @Test
    void next_reusedInstanceAndOffset_dependsOnArgumentsOnly() {
        ChainKeys keys = new ChainKeys();
        BlockKey root = ChainKeys.root(PLAIN, new byte[0]);
        BlockKey expected = new ChainKeys().next(root, new int[] {5, 6}, 0, 2);
        keys.next(root, IntStream.range(0, 500).toArray(), 0, 500);
        assertThat(keys.next(root, new int[] {4, 5, 6, 7}, 1, 2)).isEqualTo(expected);
    }

    @Test
    void identityDigest_anyFieldFlipped_differs() {
        Set<String> digests = new HashSet<>();
        List<KvIdentity> all = flipped();
        for (KvIdentity identity : all) {
            digests.add(HexFormat.of().formatHex(ChainKeys.identityDigest(identity)));
        }
        assertThat(digests).hasSize(all.size()).hasSize(14);
    }

    /** The plain identity, and it with each of its 13 fields changed. */
    public static List<KvIdentity> flipped() {
        KvIdentity p = PLAIN;
        List<KvIdentity> all = new ArrayList<>();
        for (int field = -1; field < 13; field++) {
            all.add(new KvIdentity(
                    field == 0 ? C64 : p.modelDigest(),
                    field == 1 ? A64 : p.tokenizerDigest(),
                    field == 2 ? A64 : p.adapterDigest(),
                    field == 3 ? "djl-pytorch-2.7.1/llama-2" : p.engineLayout(),
                    field == 4 ? "rope(base=10001,dims=64,style=halves)" : p.rope(),
                    field == 5 ? ReuseMode.FAST : p.mode(),
                    field == 6 ? KvDataType.F16 : p.dataType(),
                    field == 7 ? 31 : p.layers(),
                    field == 8 ? 4 : p.kvHeads(),
                    field == 9 ? 32 : p.headSize(),
                    field == 10 ? 32 : p.blockTokens(),
                    field == 11 || field == 12 ? 2 : p.tensorParallelSize(),
                    field == 12 ? 1 : p.tensorParallelRank()));
        }
        return all;
    }

    @Test
    void root_saltsThatHmacPadsOrHashesAlike_differ() throws Exception {
        byte[] longSalt = "x".repeat(80).getBytes(StandardCharsets.US_ASCII);
        byte[] hashed = java.security.MessageDigest.getInstance("SHA-256").digest(longSalt);
        Set<BlockKey> roots = new HashSet<>();
        for (byte[] salt : List.of(new byte[0], new byte[1], new byte[2], new byte[64], longSalt, hashed)) {
            roots.add(ChainKeys.root(PLAIN, salt));
        }
        assertThat(roots).hasSize(6);
    }

    @Test
    void identityDigest_loneSurrogate_isRefused() {
        KvIdentity broken =
                new KvIdentity(A64, C64, "", "x\uD800", "r", ReuseMode.EXACT, KvDataType.F32, 1, 1, 1, 1, 1, 0);
        assertThatThrownBy(() -> ChainKeys.identityDigest(broken)).hasMessageContaining("well-formed Unicode");
    }

    @Test
    void keys_hundredThousandTuples_areDistinct() {
        Set<BlockKey> keys = new HashSet<>();
        int tuples = KeyTuples.forEach(keys::add);
        assertThat(tuples).isGreaterThanOrEqualTo(100_000);
        assertThat(keys).hasSize(tuples);
    }

    @Test
    void keys_otherJvmLocaleAndEncoding_areTheSame() throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String here = KeyTuples.digest();
        assertThat(digest(
                        java,
                        "-Duser.language=tr",
                        "-Duser.country=TR",
                        "-Dfile.encoding=UTF-16",
                        "-XX:TieredStopAtLevel=1"))
                .contains(here);
        assertThat(digest(
                        java,
                        "-Duser.language=ar",
                        "-Duser.country=SA",
                        "-Dfile.encoding=ISO-8859-1",
                        "-XX:+UseSerialGC"))
                .contains(here);
    }

    @Test
    void keys_otherJdk_areTheSame() throws Exception {
        List<Path> others = otherJdks();
        if (others.isEmpty()) {
            System.out.println("SKIPPED: KEYS OF NO OTHER JDK WERE COMPARED. None of another version below " + JDKS);
        }
        assumeFalse(others.isEmpty(), "SKIPPED: KEYS OF NO OTHER JDK WERE COMPARED. " + JDKS);
        String here = KeyTuples.digest();
        for (Path java : others) {
            System.out.println("keys of " + java);
            assertThat(digest(java)).as("%s", java).contains(here);
        }
    }

    /** Programs of another feature version, 17 or later: what this was compiled for. */
    private static List<Path> otherJdks() throws IOException {
        Map<Integer, Path> byVersion = new TreeMap<>();
        if (Files.isDirectory(JDKS)) {
            try (Stream<Path> homes = Files.list(JDKS)) {
                for (Path home : homes.filter(path -> Files.isRegularFile(path.resolve("release")))
                        .toList()) {
                    Matcher version = JDK_VERSION.matcher(Files.readString(home.resolve("release")));
                    Path java = home.resolve("bin").resolve("java");
                    if (version.find() && Files.isExecutable(java)) {
                        byVersion.put(Integer.parseInt(version.group(1)), java);
                    }
                }
            }
        }
        byVersion
                .keySet()
                .removeIf(
                        version -> version < 17 || version == Runtime.version().feature());
        return List.copyOf(byVersion.values());
    }

    /** What that program says the digest of all tuples' keys is, and whatever else it says. */
    private static String digest(Path java, String... flags) throws Exception {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(List.of(flags));
        command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path"), KeyTuples.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return text.replace("\0", "");
    }
}
