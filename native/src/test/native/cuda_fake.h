// SPDX-License-Identifier: Apache-2.0
#ifndef MOONCAKE_CUDA_FAKE_H
#define MOONCAKE_CUDA_FAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What lies in the file behind a fake dma-buf: where the exported range is kept in this process. The fake of libibverbs alone reads it, as
 * the kernel alone knows what is behind a real one.
 */
struct fake_dma_buf {
    char kind[16];
    char *memory;
    size_t bytes;
};

#define FAKE_DMA_BUF_KIND "fake-dma-buf"

/* Where memory of a fake GPU is kept, NULL for other addresses and for what is not allocated. */
char *fake_cuda_memory(uint64_t address, size_t bytes);

#endif
