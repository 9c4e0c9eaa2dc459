// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

import org.apache.ignite.calcite.CalciteQueryEngineConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.configuration.SqlConfiguration;

/** ignite-calcite, configured by the user as Ignite's documentation says; no ignite-indexing. */
class CalciteQueryTest extends SqlSuite {
    @Override
    protected IgniteConfiguration withEngine(IgniteConfiguration config) {
        return config.setSqlConfiguration(
                new SqlConfiguration().setQueryEnginesConfiguration(new CalciteQueryEngineConfiguration()));
    }

    @Override
    protected String engine() {
        return "calcite";
    }
}
