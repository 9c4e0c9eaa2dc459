// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.MooncakeException;
import java.util.Locale;

/** Which ways an engine may take for the bytes of its own requests; it serves peers in every way that it can. */
public enum TransferProtocol {
    /** The best way that both ends share: shared memory on one machine, else RDMA where both have a device, else TCP. */
    AUTO,
    /** TCP only. */
    TCP,
    /** Shared memory with peers on this machine; what isn't shared goes by TCP. */
    SHM,
    /** RDMA; a missing device is an error at the start, a peer without one is unreachable. */
    RDMA;

    /**
     * Parses {@code auto}, {@code tcp}, {@code shm} or {@code rdma}, in any case.
     *
     * @throws MooncakeException INVALID_ARGUMENT for anything else
     */
    public static TransferProtocol parse(String text) {
        for (TransferProtocol one : values()) {
            if (one.text().equals(text.toLowerCase(Locale.ROOT))) {
                return one;
            }
        }
        throw MooncakeException.invalid("protocol", text, "auto, tcp, shm or rdma");
    }

    /** The name in configurations. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
