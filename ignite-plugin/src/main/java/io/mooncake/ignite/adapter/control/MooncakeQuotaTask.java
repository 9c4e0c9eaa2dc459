// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Mooncake;
import io.mooncake.memory.TenantQuota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.internal.processors.task.GridInternal;
import org.apache.ignite.internal.visor.VisorJob;

/** Sets a quota, or lists those there are. */
@GridInternal
public final class MooncakeQuotaTask extends LinesTask<MooncakeQuotaCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected VisorJob<MooncakeQuotaCommandArg, List<String>> job(MooncakeQuotaCommandArg arg) {
        return new QuotaJob(arg, debug);
    }

    private static final class QuotaJob extends VisorJob<MooncakeQuotaCommandArg, List<String>> {
        private static final long serialVersionUID = 0;

        QuotaJob(MooncakeQuotaCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        protected List<String> run(MooncakeQuotaCommandArg arg) {
            Mooncake mooncake = Mooncake.of(ignite);
            if (arg.changes()) {
                TenantQuota quota =
                        arg.unlimited() ? TenantQuota.UNLIMITED : new TenantQuota(arg.dramBytes(), arg.ssdBytes());
                mooncake.quota(arg.tenant(), quota, Duration.ofMillis(Timeouts.DEFAULT_MILLIS));
            }
            List<String> lines = new ArrayList<>();
            mooncake.quotas().forEach((tenant, quota) -> {
                if (arg.tenant().isEmpty() || arg.tenant().equals(tenant)) {
                    lines.add(tenant + ": " + text(quota.dramBytes()) + " of memory, " + text(quota.ssdBytes())
                            + " of SSD on each node");
                }
            });
            return lines.isEmpty() ? List.of("no quota") : lines;
        }

        private static String text(long bytes) {
            return bytes == Long.MAX_VALUE ? "any number" : bytes + " bytes";
        }
    }
}
