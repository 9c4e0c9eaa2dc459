// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

final class HmacTest {
    @Test
    void compute_anyKeyAndData_equalsTheJdks() throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("compute_anyKeyAndData mooncake.seed=" + seed);
        Random random = new Random(seed);
        for (int i = 0; i < 500; i++) {
            byte[] key = new byte[1 + random.nextInt(64)];
            byte[] data = new byte[random.nextInt(200)];
            random.nextBytes(key);
            random.nextBytes(data);
            Mac jdk = Mac.getInstance("HmacSHA256");
            jdk.init(new SecretKeySpec(key, "HmacSHA256"));
            byte[] mac = new byte[32];
            Hmac ours = new Hmac(key);
            ours.compute(data, mac);
            ours.compute(data, mac);
            assertThat(mac).isEqualTo(jdk.doFinal(data));
        }
    }
}
