// SPDX-License-Identifier: Apache-2.0
/*
 * The names of the blocks of a prompt, version 1; io.mooncake.memory.block.ChainKeys says what they are and is the other implementation:
 *
 *   key = SHA-256( 30 20000000 parent:32 31 length:4 tokens ), length and tokens little-endian
 *
 * Each key needs the one before, so what counts is how long one takes, not how many run side by side. On x86-64 the SHA extensions do two
 * rounds in the latency of one instruction (sha256rnds2, 4 cycles), and all that does not depend on the parent is done beside that chain:
 * the message schedule, and the first two rounds but for the parent's first three bytes. 16 tokens are 63 of these instructions and about
 * five cycles between a key and the next one.
 *
 * Registers hold the eight words of a state as sha256rnds2 wants them: abef = {F, E, B, A} and cdgh = {H, G, D, C}, lowest lane first.
 */
#include <jni.h>
#include <stdint.h>

#define JNI_CLASS_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_NativeCalls_##name

/* Tokens that are copied out of the Java heap at a time, so that no collector ever waits for this; at least one block of the largest. */
#define COPIED_TOKENS 4096
#define KEY_LONGS 4
/* Keys that are copied back at a time. */
#define COPIED_KEYS 256

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#define SHA __attribute__((target("sha,sse4.1")))
#define SHA_INLINE static inline __attribute__((target("sha,sse4.1"), always_inline))

/* Bytes of the message before the parent and before the tokens. */
#define PARENT 5
#define TOKENS 42

static const uint32_t K[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* Selects the last 16 - i bytes of a vector when read from i, nothing behind them. */
static const uint8_t LAST_BYTES[32] = {0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
                                       0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

/* Where byte p of a digest lies in abef or in cdgh; -1, which selects zero, when it lies in the other or p is none. */
#define IN_ABEF(p) ((p) >= 0 && (p) < 8 ? 15 - (p) : (p) >= 16 && (p) < 24 ? 23 - (p) : -1)
#define IN_CDGH(p) ((p) >= 8 && (p) < 16 ? 23 - (p) : (p) >= 24 && (p) < 32 ? 31 - (p) : -1)
/* The same for the first eight bytes of tokens, loaded as they are; q counts from the first. */
#define IN_TOKENS(q) ((q) >= 0 && (q) < 8 ? (q) : -1)
/* Selects the four big-endian message words that begin at byte m of what in() counts. */
#define WORD(in, m) in(m), in((m) + 1), in((m) + 2), in((m) + 3)
#define WORDS(in, m) _mm_set_epi8(WORD(in, (m) + 12), WORD(in, (m) + 8), WORD(in, (m) + 4), WORD(in, m))
#define NO_WORD -1, -1, -1, -1

struct state {
    __m128i abef;
    __m128i cdgh;
};

/* What is the same for all blocks of a call. */
struct shape {
    size_t token_bytes;
    size_t compressions;
    /* The vector of four words in which the tokens end, and how many bytes of them it has: 2, 6, 10 or 14. */
    size_t tail;
    size_t tail_bytes;
    uint32_t message_bits;
};

SHA_INLINE struct shape shape_of(size_t block_tokens) {
    struct shape shape;
    shape.token_bytes = 4 * block_tokens;
    size_t message = TOKENS + shape.token_bytes;
    shape.compressions = (message + 9 + 63) / 64;
    shape.tail = message / 16;
    shape.tail_bytes = message % 16;
    shape.message_bits = (uint32_t)(8 * message);
    return shape;
}

SHA_INLINE __m128i big_endian(__m128i bytes) {
    return _mm_shuffle_epi8(bytes, _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
}

/* Message words 4v..4v+3, of those that follow the parent. */
SHA_INLINE __m128i words(struct shape shape, const uint8_t *tokens, size_t v) {
    __m128i words = _mm_setzero_si128();
    if (v < shape.tail) {
        words = big_endian(_mm_loadu_si128((const __m128i *)(tokens + 16 * v - TOKENS)));
    } else if (v == shape.tail) {
        /* What is loaded ends with the tokens and may begin before them: there is room. */
        __m128i last = _mm_loadu_si128((const __m128i *)(tokens + shape.token_bytes - 16));
        size_t skipped = 16 - shape.tail_bytes;
        __m128i select = _mm_loadu_si128((const __m128i *)(LAST_BYTES + skipped));
        __m128i one = _mm_set_epi32(0, 0, 0, 0x80);
        /* The padding's 80 stands in the last byte of a word's first half, as tail_bytes is 2 more than a multiple of 4. */
        switch (shape.tail_bytes) {
            case 2: one = _mm_set_epi32(0, 0, 0, 0x8000); break;
            case 6: one = _mm_set_epi32(0, 0, 0x8000, 0); break;
            case 10: one = _mm_set_epi32(0, 0x8000, 0, 0); break;
            default: one = _mm_set_epi32(0x8000, 0, 0, 0); break;
        }
        words = _mm_or_si128(big_endian(_mm_shuffle_epi8(last, select)), one);
    }
    if (v == 4 * shape.compressions - 1) {
        words = _mm_or_si128(words, _mm_set_epi32((int)shape.message_bits, 0, 0, 0));
    }
    return words;
}

#define CONSTANTS(t) _mm_load_si128((const __m128i *)(K + 4 * (t)))
#define SECOND_HALF 0x0E

/* Four rounds with message words w. */
#define ROUNDS(t, w)                                                                  \
    do {                                                                              \
        __m128i wk = _mm_add_epi32(w, CONSTANTS(t));                                  \
        s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, wk);                           \
        s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(wk, SECOND_HALF)); \
    } while (0)

/* The words sixteen after w0, from the sixteen that begin with w0. */
#define EXTEND(w0, w1, w2, w3) \
    w0 = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4)), w3)

/* Rounds 4 to 63. */
SHA_INLINE struct state rounds_from_4(struct state s, __m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    ROUNDS(1, w1);
    ROUNDS(2, w2);
    ROUNDS(3, w3);
#define SIXTEEN_ROUNDS(t)     \
    EXTEND(w0, w1, w2, w3);   \
    ROUNDS(t, w0);            \
    EXTEND(w1, w2, w3, w0);   \
    ROUNDS((t) + 1, w1);      \
    EXTEND(w2, w3, w0, w1);   \
    ROUNDS((t) + 2, w2);      \
    EXTEND(w3, w0, w1, w2);   \
    ROUNDS((t) + 3, w3)
    SIXTEEN_ROUNDS(4);
    SIXTEEN_ROUNDS(8);
    SIXTEEN_ROUNDS(12);
#undef SIXTEEN_ROUNDS
    return s;
}

SHA_INLINE struct state add(struct state a, struct state b) {
    return (struct state){_mm_add_epi32(a.abef, b.abef), _mm_add_epi32(a.cdgh, b.cdgh)};
}

/* The key that follows parent. */
SHA_INLINE struct state next_key(struct shape shape, struct state parent, const uint8_t *tokens) {
    const struct state start = {
        _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
        _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19)};
    const int word0 = 0x30200000;

    /* Word 0 is the same always, so rounds 0 and 1 are but for word 1, which is added to A and E by round 1. */
    const __m128i fixed =
        _mm_sha256rnds2_epu32(start.cdgh, start.abef, _mm_set_epi32(0, 0, (int)K[1], (int)(K[0] + (uint32_t)word0)));
    const __m128i word1_to_a_and_e =
        _mm_set_epi8(WORD(IN_ABEF, 4 - PARENT), NO_WORD, WORD(IN_ABEF, 4 - PARENT), NO_WORD);
    struct state s;
    s.cdgh = _mm_add_epi32(fixed, _mm_shuffle_epi8(parent.abef, word1_to_a_and_e));
    s.abef = start.abef;

    __m128i w0 = _mm_or_si128(_mm_shuffle_epi8(parent.abef, WORDS(IN_ABEF, 0 - PARENT)),
                              _mm_shuffle_epi8(parent.cdgh, WORDS(IN_CDGH, 0 - PARENT)));
    s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(_mm_add_epi32(w0, CONSTANTS(0)), SECOND_HALF));
    w0 = _mm_or_si128(w0, _mm_set_epi32(0, 0, 0, word0));
    __m128i w1 = _mm_or_si128(_mm_shuffle_epi8(parent.abef, WORDS(IN_ABEF, 16 - PARENT)),
                              _mm_shuffle_epi8(parent.cdgh, WORDS(IN_CDGH, 16 - PARENT)));
    uint32_t length = __builtin_bswap32((uint32_t)shape.token_bytes);
    __m128i first = _mm_loadl_epi64((const __m128i *)tokens);
    __m128i between = _mm_or_si128(_mm_shuffle_epi8(first, WORDS(IN_TOKENS, 32 - TOKENS)),
                                   _mm_set_epi32(0, (int)(length << 16), (int)(0x00310000 | length >> 16), 0));
    __m128i w2 = _mm_or_si128(between, _mm_shuffle_epi8(parent.cdgh, WORDS(IN_CDGH, 32 - PARENT)));
    s = add(rounds_from_4(s, w0, w1, w2, words(shape, tokens, 3)), start);

    for (size_t v = 4; v < 4 * shape.compressions; v += 4) {
        struct state before = s;
        w0 = words(shape, tokens, v);
        ROUNDS(0, w0);
        s = add(
            rounds_from_4(
                s, w0, words(shape, tokens, v + 1), words(shape, tokens, v + 2), words(shape, tokens, v + 3)),
            before);
    }
    return s;
}

/* Two words of a key in a long, the first one high. */
SHA static void load_key(struct state *key, const jlong *longs) {
    __m128i ab_cd = _mm_loadu_si128((const __m128i *)longs);
    __m128i ef_gh = _mm_loadu_si128((const __m128i *)(longs + 2));
    key->abef = _mm_unpacklo_epi64(ef_gh, ab_cd);
    key->cdgh = _mm_unpackhi_epi64(ef_gh, ab_cd);
}

SHA_INLINE void to_longs(struct state key, jlong *longs) {
    _mm_storeu_si128((__m128i *)longs, _mm_unpackhi_epi64(key.abef, key.cdgh));
    _mm_storeu_si128((__m128i *)(longs + 2), _mm_unpacklo_epi64(key.abef, key.cdgh));
}

SHA_INLINE void chain(size_t block_tokens, struct state *parent, const uint8_t *tokens, size_t blocks, jlong *keys) {
    struct shape shape = shape_of(block_tokens);
    struct state key = *parent;
    for (size_t i = 0; i < blocks; i++) {
        key = next_key(shape, key, tokens + i * shape.token_bytes);
        to_longs(key, keys + KEY_LONGS * i);
    }
    *parent = key;
}

/* The usual size by itself, so that its shape is known when this is compiled. */
SHA static void chain_of_16(struct state *parent, const uint8_t *tokens, size_t blocks, jlong *keys) {
    chain(16, parent, tokens, blocks, keys);
}

SHA static void chain_of_any(
    size_t block_tokens, struct state *parent, const uint8_t *tokens, size_t blocks, jlong *keys) {
    chain(block_tokens, parent, tokens, blocks, keys);
}

/* Whether the processor has what chainKeys needs. */
JNI_CLASS_CALL(jboolean, chainSupported)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) {
        return JNI_FALSE;
    }
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? JNI_TRUE : JNI_FALSE;
}

/*
 * Keys of blocks x block_tokens tokens from offset, behind the parent of four words; four longs a key from keys[0].
 * block_tokens is 2..COPIED_TOKENS. The JVM checks both arrays' bounds, and has an exception pending where they are passed.
 */
JNI_CLASS_CALL(void, chainKeys)(JNIEnv *env, jclass type, jlong parent0, jlong parent1, jlong parent2, jlong parent3,
                                jintArray tokens, jint offset, jint block_tokens, jint blocks, jlongArray keys) {
    (void)type;
    /* Room before the tokens, as the last of a block are loaded with what is before them. */
    jint copied[4 + COPIED_TOKENS];
    jlong made[KEY_LONGS * COPIED_KEYS];
    const jlong longs[KEY_LONGS] = {parent0, parent1, parent2, parent3};
    jint most = COPIED_TOKENS / block_tokens < COPIED_KEYS ? COPIED_TOKENS / block_tokens : COPIED_KEYS;
    struct state parent;
    load_key(&parent, longs);
    for (jint done = 0; done < blocks;) {
        jint count = blocks - done < most ? blocks - done : most;
        (*env)->GetIntArrayRegion(env, tokens, offset + done * block_tokens, count * block_tokens, copied + 4);
        if ((*env)->ExceptionCheck(env)) {
            return;
        }
        const uint8_t *bytes = (const uint8_t *)(copied + 4);
        if (block_tokens == 16) {
            chain_of_16(&parent, bytes, (size_t)count, made);
        } else {
            chain_of_any((size_t)block_tokens, &parent, bytes, (size_t)count, made);
        }
        (*env)->SetLongArrayRegion(env, keys, KEY_LONGS * done, KEY_LONGS * count, made);
        if ((*env)->ExceptionCheck(env)) {
            return;
        }
        done += count;
    }
}

#else

/* Where there is no such instruction, Java does it: the JVM has the machine's own way of hashing. */
JNI_CLASS_CALL(jboolean, chainSupported)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    return JNI_FALSE;
}
#endif
