// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Caller;
import io.mooncake.ignite.KnownTenants;
import io.mooncake.memory.Tenant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TenantsTest {
    private static final String KEY = "a key of sixteen and more";

    private final Tenants tenants = new Tenants(
            "the cluster's secret",
            new KnownTenants().setLogins(Map.of("alice", "acme")).setApiKeys(Map.of(KEY, "globex")),
            List.of("ignite"));

    @Test
    void named_sameSecretAndName_sameSaltOnEveryNode() {
        byte[] salt = tenants.named("acme").salt();

        assertThat(salt)
                .hasSize(32)
                .isEqualTo(new Tenants("the cluster's secret", null, List.of())
                        .named("acme")
                        .salt());
        assertThat(tenants.named("acme"))
                .isEqualTo(tenants.named("acme"))
                .hasSameHashCodeAs(tenants.named("acme"))
                .isNotEqualTo(new Tenants("another secret", null, List.of()).named("acme"));
        assertThat(tenants.named("globex").salt()).isNotEqualTo(salt);
        assertThat(new Tenants("another secret", null, List.of()).named("acme").salt())
                .isNotEqualTo(salt);
    }

    @Test
    void named_noneOrDefault_isTheDefaultTenant() {
        assertThat(tenants.named(null)).isSameAs(Tenant.DEFAULT);
        assertThat(tenants.named("default")).isSameAs(Tenant.DEFAULT);
    }

    @Test
    void of_loginOrKey_isItsTenant() {
        assertThat(tenants.of(new Caller(Caller.Kind.JDBC, "alice", null, null)).name())
                .isEqualTo("acme");
        assertThat(tenants.of(Caller.gateway(null, KEY, null)).name()).isEqualTo("globex");
        assertThat(tenants.of(Caller.MEMBER_NODE)).isSameAs(Tenant.DEFAULT);
    }

    @Test
    void of_strangers_areDeniedWithoutTheirKey() {
        for (Caller stranger : List.of(
                new Caller(Caller.Kind.THIN, "mallory", null, "10.0.0.9:4711"),
                new Caller(Caller.Kind.THIN, "", null, null),
                new Caller(Caller.Kind.THIN, null, null, null),
                Caller.gateway(null, "not a key of anybody", null))) {
            assertThatThrownBy(() -> tenants.of(stranger))
                    .isInstanceOfSatisfying(
                            MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.DENIED))
                    .hasMessageContaining("tenantResolver")
                    .hasMessageNotContaining("not a key");
        }
    }

    @Test
    void of_noResolver_isTheDefaultTenant() {
        assertThat(new Tenants("the cluster's secret", null, List.of()).of(Caller.gateway(null, null, null)))
                .isSameAs(Tenant.DEFAULT);
    }

    @Test
    void requireOperator_otherLogin_isDenied() {
        tenants.requireOperator(new Caller(Caller.Kind.THIN, "ignite", null, null));
        tenants.requireOperator(new Caller(Caller.Kind.THIN, null, null, null));
        tenants.requireOperator(Caller.MEMBER_NODE);

        assertThatThrownBy(() -> tenants.requireOperator(Caller.gateway(null, KEY, "10.0.0.9:4711")))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.DENIED));
        for (String login : List.of("alice", "")) {
            assertThatThrownBy(() -> tenants.requireOperator(new Caller(Caller.Kind.THIN, login, null, null)))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.DENIED));
        }
    }

    @Test
    void apiKeys_shortKey_isRefusedWithoutShowingIt() {
        assertThatThrownBy(() -> new KnownTenants().setApiKeys(Map.of("guessable", "acme")))
                .hasMessageContaining("9 characters")
                .hasMessageNotContaining("guessable");
    }
}
