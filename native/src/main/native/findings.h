// SPDX-License-Identifier: Apache-2.0
#ifndef MOONCAKE_FINDINGS_H
#define MOONCAKE_FINDINGS_H

#include <stddef.h>

#define FINDINGS_MAX_DEVICES 64
#define FINDINGS_MAX_TEXT 256

/*
 * What a probe of one driver found. Mirrors DeviceProbe.java.
 *
 * reason is empty when the driver answered and at least one device is there; otherwise it says why not.
 * driver is empty when the driver's library could not be opened.
 */
struct findings {
    char reason[FINDINGS_MAX_TEXT];
    char driver[FINDINGS_MAX_TEXT];
    size_t device_count;
    char devices[FINDINGS_MAX_DEVICES][FINDINGS_MAX_TEXT];
};

/* Opens libibverbs.so.1 and lists its devices. Never fails: what went wrong stands in reason. */
void rdma_probe(struct findings *out);

/* Opens a CUDA driver library, initialises it and lists its devices. Never fails: what went wrong stands in reason. */
void cuda_probe(const char *library, struct findings *out);

#endif
