// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.util.List;

/**
 * What a driver that is opened at run time answered.
 *
 * @param devices the devices' names in the driver's order; empty when there is none
 * @param driver the driver that answered, for example {@code CUDA driver 12.4}; empty when it could not be opened
 * @param reason why {@code devices} cannot be used; empty when they can
 */
public record DeviceProbe(List<String> devices, String driver, String reason) {
    public DeviceProbe {
        devices = List.copyOf(devices);
    }

    /** Whether the driver answered and has at least one device. */
    public boolean usable() {
        return reason.isEmpty() && !devices.isEmpty();
    }

    /** From the bridge's form, {@code {reason, driver, device...}}. */
    static DeviceProbe of(String[] found) {
        List<String> fields = List.of(found);
        return new DeviceProbe(fields.subList(2, fields.size()), fields.get(1), fields.get(0));
    }

    static DeviceProbe withoutBridge(String reason) {
        return new DeviceProbe(List.of(), "", "native bridge: " + reason);
    }
}
