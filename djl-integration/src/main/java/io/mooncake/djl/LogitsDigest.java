// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 over the logits of a generation, token after token, little-endian: equal exactly where all bits are. One thread. */
final class LogitsDigest {
    private final MessageDigest sha256;
    private ByteBuffer bytes = ByteBuffer.allocate(0);

    LogitsDigest() {
        try {
            sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new MooncakeException(Code.INTERNAL, "this JDK has no SHA-256", e);
        }
    }

    /** Adds the logits of the next token. */
    void add(float[] logits) {
        int needed = logits.length * Float.BYTES;
        if (bytes.capacity() < needed) {
            bytes = ByteBuffer.allocate(needed).order(ByteOrder.LITTLE_ENDIAN);
        }
        bytes.asFloatBuffer().put(logits);
        sha256.update(bytes.array(), 0, needed);
    }

    /** The digest in hex; ends the collection. */
    String digest() {
        return HexFormat.of().formatHex(sha256.digest());
    }
}
