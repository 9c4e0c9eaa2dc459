// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.natives.ChainHash;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.DigestException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * How blocks are named, version 1. Every integer is little-endian and 4 bytes, every text UTF-8, so that a key is the same on every
 * machine, in every locale and JVM, and in other languages:
 *
 * <pre>
 *   field(tag, value)  = tag:1  length:4  value:length
 *   identity digest    = SHA-256( field(01, "mooncake-kv-identity") field(02, int 1)
 *                                 field(10, modelDigest) field(11, tokenizerDigest) field(12, adapterDigest)
 *                                 field(13, engineLayout) field(14, rope)
 *                                 field(15, int mode: 1 exact, 2 fast) field(16, int dataType.code)
 *                                 field(17, int layers) field(18, int kvHeads) field(19, int headSize)
 *                                 field(1A, int blockTokens) field(1B, int tensorParallelSize) field(1C, int tensorParallelRank) )
 *   root               = HMAC-SHA256( key = salt,
 *                                 field(01, "mooncake-kv-root") field(20, identity digest) field(21, int length of salt) )
 *   next               = SHA-256( field(30, parent digest) field(31, tokens, 4 bytes each) )
 * </pre>
 *
 * <p>Tags are hexadecimal; digests in the identity are their hexadecimal text. Tag and length make the encoding injective: no two
 * identities share one. HMAC pads a short key with zeros and hashes a long one, so the length of the salt is a field of its own, and salts
 * that differ only in trailing zeros give other roots. The empty salt is an ordinary one: HMAC with an empty key.
 *
 * <p>Chains are hashed by the native bridge where that is there and the processor has SHA-256 instructions: a block of 16 tokens then takes little
 * more than the latency of those. Single blocks, blocks of one token, and all elsewhere are hashed by the JDK. The keys are the same.
 *
 * <p>Threading: an instance serves one thread; {@link #root} is static and safe for all.
 */
public final class ChainKeys {
    private static final int BLOCK = 64;
    private static final int FIELD_HEADER = 5;
    private static final int PARENT = FIELD_HEADER;
    private static final int TOKENS = 2 * FIELD_HEADER + BlockKey.BYTES;
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /** Blocks hashed in one call: what the longs of their keys take is small. */
    private static final int BATCH = 256;

    private final boolean inC;
    /** Of the last batch; four longs a key. */
    private long[] words = new long[ChainHash.LONGS];
    /** Made when it is needed: it costs as much as some blocks. */
    private @Nullable MessageDigest sha256;

    private final byte[] digest = new byte[BlockKey.BYTES];
    /** The message of the last call: of one as long, tags and lengths are there already. */
    private byte[] message = new byte[0];

    /** Hashes by the native bridge where that is there and the processor can, else by the JDK. */
    public ChainKeys() {
        this(ChainHash.available());
    }

    /** For tests and benches: which of the two hashes. */
    ChainKeys(boolean inC) {
        this.inC = inC;
    }

    /** The digest over all fields of {@code identity}, 32 bytes. */
    public static byte[] identityDigest(KvIdentity identity) {
        FieldWriter fields = new FieldWriter();
        fields.text(0x01, "mooncake-kv-identity");
        fields.number(0x02, 1);
        fields.text(0x10, identity.modelDigest());
        fields.text(0x11, identity.tokenizerDigest());
        fields.text(0x12, identity.adapterDigest());
        fields.text(0x13, identity.engineLayout());
        fields.text(0x14, identity.rope());
        fields.number(0x15, code(identity.mode()));
        fields.number(0x16, identity.dataType().code());
        fields.number(0x17, identity.layers());
        fields.number(0x18, identity.kvHeads());
        fields.number(0x19, identity.headSize());
        fields.number(0x1A, identity.blockTokens());
        fields.number(0x1B, identity.tensorParallelSize());
        fields.number(0x1C, identity.tensorParallelRank());
        return newSha256().digest(fields.bytes());
    }

    /** The name of the empty prefix of {@code identity} under {@code salt}: the parent of every first block. */
    public static BlockKey root(KvIdentity identity, byte[] salt) {
        FieldWriter fields = new FieldWriter();
        fields.text(0x01, "mooncake-kv-root");
        fields.bytes(0x20, identityDigest(identity));
        fields.number(0x21, salt.length);
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            // The JDK refuses an empty key. HMAC fills keys up to one block with zeros, so that one block of zeros is
            // the empty key.
            mac.init(new SecretKeySpec(salt.length == 0 ? new byte[BLOCK] : salt, "HmacSHA256"));
            return BlockKey.of(mac.doFinal(fields.bytes()));
        } catch (GeneralSecurityException e) {
            throw new MooncakeException(Code.INTERNAL, "HmacSHA256: missing (expected: in every Java)", e);
        }
    }

    /**
     * The name of the block that follows {@code parent} with {@code tokens[offset..offset+count)}.
     *
     * @throws MooncakeException INVALID_ARGUMENT when {@code tokens} is shorter
     */
    public BlockKey next(BlockKey parent, int[] tokens, int offset, int count) {
        requireWithin(tokens, offset, count, 1);
        // A call of C for one block costs more than it gains.
        return nextInJava(parent, tokens, offset, count);
    }

    /**
     * The names of {@code blocks} blocks of {@code blockTokens} tokens each that follow {@code parent}, from {@code tokens[offset]} on.
     *
     * @throws MooncakeException INVALID_ARGUMENT when {@code tokens} is shorter
     */
    public BlockKey[] chain(BlockKey parent, int[] tokens, int offset, int blockTokens, int blocks) {
        requireWithin(tokens, offset, blockTokens, blocks);
        BlockKey[] chain = new BlockKey[blocks];
        boolean batched = isInC(blockTokens);
        BlockKey last = parent;
        int done = 0;
        while (done < blocks) {
            int count = batched ? Math.min(BATCH, blocks - done) : 1;
            int from = offset + done * blockTokens;
            if (batched) {
                hash(last, tokens, from, blockTokens, count);
                for (int i = 0; i < count; i++) {
                    chain[done + i] = key(i);
                }
            } else {
                chain[done] = nextInJava(last, tokens, from, blockTokens);
            }
            done += count;
            last = chain[done - 1];
        }
        return chain;
    }

    private static void requireWithin(int[] tokens, int offset, int blockTokens, int blocks) {
        if (offset < 0
                || blockTokens < 0
                || blocks < 0
                || (long) blocks * blockTokens > (long) tokens.length - offset) {
            throw MooncakeException.invalid(
                    "blocks", blocks + " of " + blockTokens + " from token " + offset, "within " + tokens.length);
        }
    }

    private boolean isInC(int blockTokens) {
        return inC && blockTokens >= ChainHash.MIN_BLOCK_TOKENS && blockTokens <= ChainHash.MAX_BLOCK_TOKENS;
    }

    private void hash(BlockKey parent, int[] tokens, int offset, int blockTokens, int blocks) {
        if (words.length < ChainHash.LONGS * blocks) {
            words = new long[ChainHash.LONGS * blocks];
        }
        ChainHash.chain(
                parent.word0(),
                parent.word1(),
                parent.word2(),
                parent.word3(),
                tokens,
                offset,
                blockTokens,
                blocks,
                words);
    }

    private BlockKey key(int index) {
        int at = ChainHash.LONGS * index;
        return new BlockKey(words[at], words[at + 1], words[at + 2], words[at + 3]);
    }

    private BlockKey nextInJava(BlockKey parent, int[] tokens, int offset, int count) {
        int length = TOKENS + 4 * count;
        if (message.length != length) {
            message = new byte[length];
            message[0] = 0x30;
            INT.set(message, 1, BlockKey.BYTES);
            message[PARENT + BlockKey.BYTES] = 0x31;
            INT.set(message, TOKENS - Integer.BYTES, 4 * count);
        }
        LONG.set(message, PARENT, parent.word0());
        LONG.set(message, PARENT + 8, parent.word1());
        LONG.set(message, PARENT + 16, parent.word2());
        LONG.set(message, PARENT + 24, parent.word3());
        for (int i = 0; i < count; i++) {
            INT.set(message, TOKENS + 4 * i, tokens[offset + i]);
        }
        MessageDigest hash = sha256;
        if (hash == null) {
            hash = newSha256();
            sha256 = hash;
        }
        hash.update(message, 0, length);
        try {
            hash.digest(digest, 0, digest.length);
        } catch (DigestException e) {
            throw new MooncakeException(Code.INTERNAL, "SHA-256: " + e.getMessage(), e);
        }
        return new BlockKey((long) LONG.get(digest, 0), (long) LONG.get(digest, 8), (long) LONG.get(digest, 16), (long)
                LONG.get(digest, 24));
    }

    private static int code(ReuseMode mode) {
        return switch (mode) {
            case EXACT -> 1;
            case FAST -> 2;
        };
    }

    private static MessageDigest newSha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (GeneralSecurityException e) {
            throw new MooncakeException(Code.INTERNAL, "SHA-256: missing (expected: in every Java)", e);
        }
    }

    /** Writes tagged, length-prefixed fields. */
    private static final class FieldWriter {
        private ByteBuffer out = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);

        void bytes(int tag, byte[] value) {
            if (out.remaining() < value.length + FIELD_HEADER) {
                ByteBuffer larger = ByteBuffer.allocate(2 * (out.capacity() + value.length + FIELD_HEADER));
                out = larger.order(ByteOrder.LITTLE_ENDIAN).put(out.flip());
            }
            out.put((byte) tag).putInt(value.length).put(value);
        }

        void number(int tag, int value) {
            bytes(
                    tag,
                    ByteBuffer.allocate(4)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putInt(value)
                            .array());
        }

        void text(int tag, String value) {
            try {
                // A strict encoder: getBytes would turn every lone surrogate into the same question mark.
                ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
                byte[] bytes = new byte[encoded.remaining()];
                encoded.get(bytes);
                bytes(tag, bytes);
            } catch (CharacterCodingException e) {
                throw MooncakeException.invalid("identity text", value, "well-formed Unicode");
            }
        }

        byte[] bytes() {
            byte[] bytes = new byte[out.position()];
            out.get(0, bytes);
            return bytes;
        }
    }
}
