// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataRecord;
import io.mooncake.transfer.metadata.MetadataServer;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class EtcdSettingsTest {
    private static final MetadataContext CONTEXT = MetadataContext.of("c");

    @Test
    void of_severalMembers_withIpv6AndCredentials() {
        EtcdSettings settings = EtcdSettings.of(MetadataServer.parse("etcd://u:p:w@a:1,[::1]:2"), CONTEXT);
        assertThat(settings.endpoints()).isEqualTo(List.of(URI.create("http://a:1"), URI.create("http://[::1]:2")));
        assertThat(settings.user()).isEqualTo("u");
        assertThat(settings.password()).isEqualTo("p:w");
        assertThat(settings.toString()).doesNotContain("p:w");
    }

    @Test
    void of_wrongForms_areRefusedWithTheForm() {
        for (String place : List.of("", "host", "host:0", "a:1,", "a:1/path", "a:1?q")) {
            assertThatExceptionOfType(MooncakeException.class)
                    .as(place)
                    .isThrownBy(() -> EtcdSettings.of(new MetadataServer("etcd", "", "", place), CONTEXT));
        }
        assertThatExceptionOfType(MooncakeException.class)
                .isThrownBy(() -> EtcdSettings.of(
                        MetadataServer.parse("etcd://a:1"), CONTEXT.withOptions(Map.of("etcd.pasword", "x"))))
                .withMessageContaining("etcd.pasword")
                .withMessageContaining("etcd.password");
        assertThatExceptionOfType(MooncakeException.class)
                .isThrownBy(() -> EtcdSettings.of(MetadataServer.parse("etcd://u@a:1"), CONTEXT));
    }

    @Test
    void descriptor_keysAndValues_comeBack_strangersDoNot() {
        MetadataRecord record = new MetadataRecord("a/b", UUID.randomUUID(), Long.MAX_VALUE, new byte[] {1, 2});
        String prefix = EtcdRecordDescriptor.prefix("c");
        String key = EtcdRecordDescriptor.key("c", record.owner(), record.key());
        byte[] value = EtcdRecordDescriptor.value(record);
        assertThat(decode(prefix, key, value)).contains(record);
        assertThat(decode(prefix, key.toUpperCase(java.util.Locale.ROOT), value))
                .isEmpty();
        assertThat(decode(prefix, prefix + "not-a-uuid/k", value)).isEmpty();
        assertThat(decode(prefix, prefix + record.owner() + "/", value)).isEmpty();
        assertThat(decode(prefix, prefix + record.owner() + "/a//b", value)).isEmpty();
        assertThat(decode(prefix, key, new byte[8])).isEmpty();
        assertThat(decode(prefix, key, new byte[9])).isEmpty();
    }

    private static java.util.Optional<MetadataRecord> decode(String prefix, String key, byte[] value) {
        return EtcdRecordDescriptor.decode(prefix, key.getBytes(StandardCharsets.UTF_8), value);
    }
}
