// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.util.Arrays;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.management.api.Argument;
import org.apache.ignite.internal.util.typedef.internal.U;

/** Arguments of {@code --mooncake explain}. Ignite fills it by its setters and carries it to the nodes. */
public final class MooncakeExplainCommandArg extends IgniteDataTransferObject {
    private static final long serialVersionUID = 0;

    @Argument(description = "Name of the pool", example = "name")
    private String pool = "";

    @Argument(description = "The prompt's token ids, parted by commas", example = "id1,id2,..")
    private String tokens = "";

    /** The pool. */
    public String pool() {
        return pool;
    }

    public void pool(String pool) {
        this.pool = pool;
    }

    /** Token ids, parted by commas. */
    public String tokens() {
        return tokens;
    }

    /** @throws IllegalArgumentException naming what is no token id */
    public void tokens(String tokens) {
        parse(tokens);
        this.tokens = tokens;
    }

    int[] tokenIds() {
        return parse(tokens);
    }

    private static int[] parse(String tokens) {
        return Arrays.stream(tokens.split(",", -1))
                .map(String::strip)
                .mapToInt(MooncakeExplainCommandArg::token)
                .toArray();
    }

    private static int token(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("--tokens: " + text + " (expected: token ids, parted by commas)", e);
        }
    }

    @Override
    protected void writeExternalData(ObjectOutput out) throws IOException {
        U.writeString(out, pool);
        U.writeString(out, tokens);
    }

    @Override
    protected void readExternalData(byte version, ObjectInput in) throws IOException {
        pool = U.readString(in);
        tokens = U.readString(in);
    }
}
