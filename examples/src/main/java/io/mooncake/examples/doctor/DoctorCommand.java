// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.report.Machine;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.MachineMemory;
import io.mooncake.natives.NativeProbe;
import io.mooncake.natives.Verbs;
import io.mooncake.transfer.gpu.GpuProbe;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code doctor}: what this machine has, what it lacks, and why. Always ends with 0: an absent device is an answer, no failure. */
@Command(
        name = "doctor",
        description = "Shows what this machine has, what it lacks, and why.",
        mixinStandardHelpOptions = true)
public final class DoctorCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli before call
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        Machine machine = Machine.local();
        print(out, "Machine", MachineFindings.system(machine, MachineMemory.read()));
        NativeProbe probe = NativeProbe.take();
        List<Finding> devices = new ArrayList<>(MachineFindings.bridge(probe));
        devices.addAll(GpuFindings.all(Cuda.gpus(), gpu -> GpuProbe.ways(gpu, Verbs.devices())));
        print(out, "Native bridge and devices", devices);
        print(out, "Tools", ToolFindings.all());
        print(out, "Product", ProductFindings.all(Home.defaultModel(), machine.libraries()));
        return 0;
    }

    private static void print(PrintWriter out, String heading, List<Finding> findings) {
        out.println(heading);
        for (Finding finding : findings) {
            out.printf("  %s %-22s %s%n", finding.state().mark(), finding.topic(), finding.text());
        }
        out.println();
        out.flush();
    }
}
