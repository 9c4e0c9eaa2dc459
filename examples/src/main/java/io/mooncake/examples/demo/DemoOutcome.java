// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.sql.SqlConsole;
import java.util.List;

/**
 * All that the demo found, for the terminal, the JSON file and the page.
 *
 * @param model name of the model file
 * @param modelThreads threads of the model on each node
 * @param blockTokens tokens a block
 * @param readySeconds from starting the processes to the cluster being ready
 * @param totalSeconds the whole demo
 * @param nodes the nodes, before one was restarted
 * @param requests the requests, in order
 * @param restart the node that was restarted
 * @param sql answers over JDBC
 * @param checks what the demo promises, and whether it held
 * @param report results against their targets, machine, version and commit
 */
public record DemoOutcome(
        String model,
        int modelThreads,
        int blockTokens,
        double readySeconds,
        double totalSeconds,
        List<NodeRow> nodes,
        List<RequestRow> requests,
        RestartRow restart,
        List<SqlConsole.Answer> sql,
        List<Check> checks,
        BenchmarkReport report) {

    /**
     * A promise of the demo.
     *
     * @param name what must hold
     * @param held whether it does
     * @param detail the figures behind it
     */
    public record Check(String name, boolean held, String detail) {}

    /** Whether every check held. */
    public boolean good() {
        return checks.stream().allMatch(Check::held);
    }

    /** Requests that were answered. */
    public List<RequestRow> answered() {
        return requests.stream().filter(RequestRow::answered).toList();
    }
}
