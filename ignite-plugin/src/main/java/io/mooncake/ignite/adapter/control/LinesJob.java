// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Caller;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.adapter.IgniteAdapter;
import java.util.List;
import org.apache.ignite.internal.dto.IgniteDataTransferObject;
import org.apache.ignite.internal.visor.VisorJob;

/**
 * One node's part of a {@link LinesTask}: operators only. What the control script shows is of all tenants, and some of it moves blocks.
 */
abstract class LinesJob<A extends IgniteDataTransferObject> extends VisorJob<A, List<String>> {
    private static final long serialVersionUID = 0;

    LinesJob(A arg, boolean debug) {
        super(arg, debug);
    }

    @Override
    protected final List<String> run(A arg) {
        Mooncake mooncake = Mooncake.of(ignite);
        mooncake.requireOperator(IgniteAdapter.caller(ignite, Caller.Kind.THIN, null));
        return lines(mooncake, arg);
    }

    /** What this node says, a line each. */
    abstract List<String> lines(Mooncake mooncake, A arg);
}
