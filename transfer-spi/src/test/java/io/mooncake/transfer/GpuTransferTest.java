// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import org.junit.jupiter.api.extension.ExtendWith;

/** Where no network card takes part: every byte is staged. */
@ExtendWith(FakeGpus.class)
final class GpuTransferTest extends GpuContract {}
