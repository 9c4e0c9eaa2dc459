// SPDX-License-Identifier: Apache-2.0
package trap;

import io.mooncake.ignite.JobContext;
import io.mooncake.ignite.RoutedJob;

/** A job of somebody's. */
public record TrapJob() implements RoutedJob<String> {
    @Override
    public String run(JobContext context) {
        return "ran";
    }
}
