// SPDX-License-Identifier: Apache-2.0
#ifndef MOONCAKE_CUDA_H
#define MOONCAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/*
 * The calls of the CUDA driver API that are used, by their documented signatures: its headers are no build requirement. A CUresult is an
 * int and 0 is success, a CUdevice is an int, a CUdeviceptr 64 bits; contexts and streams are pointers. The names are those of the
 * library's symbols, which carry the version of their signature.
 */
#define CUDA_FUNCTIONS(X)                                                            \
    X(init, "cuInit", (unsigned flags))                                              \
    X(version, "cuDriverGetVersion", (int *version))                                 \
    X(count, "cuDeviceGetCount", (int *count))                                       \
    X(get, "cuDeviceGet", (int *device, int ordinal))                                \
    X(name, "cuDeviceGetName", (char *name, int length, int device))                 \
    X(error_name, "cuGetErrorName", (int error, const char **text))                  \
    X(error_string, "cuGetErrorString", (int error, const char **text))

/* What moving bytes needs on top of the probe. */
#define CUDA_MEMORY_FUNCTIONS(X)                                                                           \
    X(total, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                                          \
    X(pci_bus_id, "cuDeviceGetPCIBusId", (char *id, int length, int device))                               \
    X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                          \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                    \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                               \
    X(push, "cuCtxPushCurrent_v2", (void *context))                                                        \
    X(pop, "cuCtxPopCurrent_v2", (void **context))                                                         \
    X(allocate, "cuMemAlloc_v2", (uint64_t *address, size_t bytes))                                        \
    X(free, "cuMemFree_v2", (uint64_t address))                                                            \
    X(allocate_host, "cuMemHostAlloc", (void **address, size_t bytes, unsigned flags))                     \
    X(free_host, "cuMemFreeHost", (void *address))                                                         \
    X(register_host, "cuMemHostRegister_v2", (void *address, size_t bytes, unsigned flags))                \
    X(unregister_host, "cuMemHostUnregister", (void *address))                                             \
    X(create_stream, "cuStreamCreate", (void **stream, unsigned flags))                                    \
    X(destroy_stream, "cuStreamDestroy_v2", (void *stream))                                                \
    X(synchronize, "cuStreamSynchronize", (void *stream))                                                  \
    X(to_host, "cuMemcpyDtoHAsync_v2", (void *host, uint64_t device, size_t bytes, void *stream))          \
    X(to_device, "cuMemcpyHtoDAsync_v2", (uint64_t device, const void *host, size_t bytes, void *stream))  \
    X(pointer, "cuPointerGetAttribute", (void *value, int attribute, uint64_t address))                    \
    X(set_pointer, "cuPointerSetAttribute", (const void *value, int attribute, uint64_t address))

/* From driver 11.3 and 11.7 on; NULL before. */
#define CUDA_OPTIONAL_FUNCTIONS(X)                                                                                \
    X(flush_writes, "cuFlushGPUDirectRDMAWrites", (int target, int scope))                                        \
    X(export_range, "cuMemGetHandleForAddressRange",                                                              \
      (void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags))

struct cuda_driver {
#define CUDA_DECLARE(name, symbol, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(CUDA_DECLARE)
    CUDA_MEMORY_FUNCTIONS(CUDA_DECLARE)
    CUDA_OPTIONAL_FUNCTIONS(CUDA_DECLARE)
#undef CUDA_DECLARE
};

/*
 * Opens a driver library, or NULL with the reason in error. Opened once for each name and never closed: the driver keeps threads and exit
 * handlers that do not survive a dlclose. Safe for all threads.
 */
const struct cuda_driver *cuda_driver(const char *library, char *error, size_t error_size);

#endif
