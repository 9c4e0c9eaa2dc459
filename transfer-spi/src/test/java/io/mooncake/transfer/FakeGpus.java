// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.natives.FakeCuda;
import io.mooncake.natives.FakeVerbs;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Two healthy fake GPUs for each test of a class, which must leave nothing behind. None of this has run on a GPU. */
public class FakeGpus implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
    /** As {@link FakeGpus}, with RDMA devices that reach their memory. The class has a JVM of its own. */
    static final class WithCards extends FakeGpus {
        @Override
        public void beforeAll(ExtensionContext context) {
            super.beforeAll(context);
            assumeTrue(FakeVerbs.available(), "fake libibverbs");
            FakeVerbs.install();
        }

        @Override
        public void beforeEach(ExtensionContext context) {
            super.beforeEach(context);
            FakeVerbs.behave(false, 0, 0);
        }

        @Override
        public void afterEach(ExtensionContext context) throws Exception {
            super.afterEach(context);
            assertThat(FakeVerbs.live()).isEqualTo(FakeVerbs.Registrations.NONE);
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        assumeTrue(FakeCuda.available(), "native bridge and fake CUDA driver");
        FakeCuda.install();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        FakeCuda.configure(2, true);
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        FakeCuda.heal();
        assertThat(FakeCuda.held()).isEqualTo(FakeCuda.Held.NOTHING);
        assertThat(FakeCuda.openDmaBufs()).isZero();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        FakeCuda.uninstall();
    }
}
