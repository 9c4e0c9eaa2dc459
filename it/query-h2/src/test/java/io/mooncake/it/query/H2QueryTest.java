// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

/** ignite-indexing: the H2 engine, which needs no configuration. */
class H2QueryTest extends SqlSuite {
    @Override
    protected String engine() {
        return "h2";
    }
}
