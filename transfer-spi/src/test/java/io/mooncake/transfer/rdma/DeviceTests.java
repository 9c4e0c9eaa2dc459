// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.PrintStream;
import java.util.Arrays;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs test classes, or methods as {@code class#method}, and prints a line each; ends with 1 when one failed. In the place of JUnit's own
 * launcher, whose classes cannot be kept in an archive of the JVM: that is most of the time a JVM takes to start in the virtual machine.
 */
public final class DeviceTests {
    private DeviceTests() {}

    /** Counts and prints; JUnit calls it on one thread. */
    private static final class Report implements TestExecutionListener {
        private final PrintStream out;
        private final long[] began = new long[64];
        private int depth;
        private int passed;
        private int failed;
        private int skipped;

        Report(PrintStream out) {
            this.out = out;
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            began[depth++] = System.nanoTime();
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            skipped++;
            out.println("SKIPPED " + name(test) + ": " + reason);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            long millis = (System.nanoTime() - began[--depth]) / 1_000_000;
            boolean sound = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
            boolean aborted = result.getStatus() == TestExecutionResult.Status.ABORTED;
            if (sound && test.isTest()) {
                passed++;
            } else if (aborted) {
                skipped++;
            } else if (!sound) {
                failed++;
            }
            if (test.isTest() || !sound || test.getSource().orElse(null) instanceof ClassSource) {
                out.printf("%8d ms %s %s%n", millis, result.getStatus(), name(test));
                result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(out));
            }
        }

        private static String name(TestIdentifier test) {
            return test.getUniqueId().replaceAll("\\[engine:[^/]*/", "").replaceAll("\\[[a-z-]*:|\\]", "");
        }
    }

    /** Runs what is named. */
    public static void main(String[] names) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(Arrays.stream(names)
                        .map(name -> name.contains("#") ? selectMethod(name) : selectClass(name))
                        .toList())
                .build();
        Report report = new Report(System.out);
        LauncherFactory.create().execute(request, report);
        System.out.printf("%d passed, %d failed, %d skipped%n", report.passed, report.failed, report.skipped);
        System.exit(report.failed == 0 && report.passed > 0 ? 0 : 1);
    }
}
