// SPDX-License-Identifier: Apache-2.0
//
// The calls of CudaCalls.java: memory, streams and copies of a device's primary context.
//
// Errors: calls return a CUresult, 0 is success; those that return a handle return 0 and store the CUresult. Each call makes the device's
// context current for its own time only, so threads of the JVM carry none. Handles are the Java side's, given back once.
#include "cuda.h"
#include "findings.h"

#include <jni.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_CudaCalls_##name

#define NOT_SUPPORTED 801
#define INVALID_VALUE 1

/* CUdevice_attribute */
#define GPU_DIRECT_RDMA_SUPPORTED 116
#define FLUSH_WRITES_OPTIONS 117
#define WRITES_ORDERING 118
#define DMA_BUF_SUPPORTED 124

/* CUpointer_attribute */
#define POINTER_MEMORY_TYPE 2
#define POINTER_SYNC_MEMOPS 6
#define POINTER_DEVICE_ORDINAL 9
#define POINTER_RANGE_START 11
#define POINTER_RANGE_SIZE 12

#define PORTABLE 1
#define STREAM_NON_BLOCKING 1
#define HANDLE_DMA_BUF_FD 1
#define FLUSH_CURRENT_CONTEXT 0
#define FLUSH_TO_OWNER 100

/* CUflushGPUDirectRDMAWritesOptions, CUGPUDirectRDMAWritesOrdering */
#define FLUSH_BY_HOST 1
#define ORDERED_FOR_OWNER 100

/* Longs of a copy: CudaStream.java has the same numbers. */
#define COPY_LONGS 4
#define MAX_COPIES 64

struct cuda_device {
    const struct cuda_driver *driver;
    int device;
    void *context;
};

static struct cuda_device *device_of(jlong handle) { return (struct cuda_device *)(intptr_t)handle; }

static int enter(const struct cuda_device *device) { return device->driver->push(device->context); }

/* What was the call's result stays so; leaving cannot fail but for a broken context, which the next call tells. */
static jint leave(const struct cuda_device *device, int result) {
    void *popped = NULL;
    int code = device->driver->pop(&popped);
    return result ? result : code;
}

CUDA_CALL(jlong, load)(JNIEnv *env, jclass type, jstring library, jobjectArray reason) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, library, NULL);
    if (!name) {
        return 0;
    }
    char error[FINDINGS_MAX_TEXT] = "";
    const struct cuda_driver *driver = cuda_driver(name, error, sizeof error);
    (*env)->ReleaseStringUTFChars(env, library, name);
    if (!driver) {
        jstring text = (*env)->NewStringUTF(env, error);
        if (text) {
            (*env)->SetObjectArrayElement(env, reason, 0, text);
        }
    }
    return (jlong)(intptr_t)driver;
}

/* {version, devices} */
CUDA_CALL(jint, init)(JNIEnv *env, jclass type, jlong handle, jintArray out) {
    (void)type;
    const struct cuda_driver *driver = (const struct cuda_driver *)(intptr_t)handle;
    jint values[2] = {0, 0};
    int code = driver->init(0);
    if (!code) {
        code = driver->version(&values[0]);
    }
    if (!code) {
        code = driver->count(&values[1]);
    }
    (*env)->SetIntArrayRegion(env, out, 0, 2, values);
    return code;
}

CUDA_CALL(jstring, errorName)(JNIEnv *env, jclass type, jlong handle, jint code) {
    (void)type;
    const char *text = NULL;
    ((const struct cuda_driver *)(intptr_t)handle)->error_name(code, &text);
    return (*env)->NewStringUTF(env, text ? text : "unknown error");
}

static int set_text(JNIEnv *env, jobjectArray texts, jsize index, const char *text) {
    jstring made = (*env)->NewStringUTF(env, text);
    if (!made) {
        return 0;
    }
    (*env)->SetObjectArrayElement(env, texts, index, made);
    (*env)->DeleteLocalRef(env, made);
    return 1;
}

/* What makes the writes of a network card visible to the device: 2 a flush, 1 nothing needs to, 0 nothing does. */
static int visibility(const struct cuda_driver *driver, int device) {
    int options = 0;
    int ordering = 0;
    if (driver->flush_writes && !driver->attribute(&options, FLUSH_WRITES_OPTIONS, device) && (options & FLUSH_BY_HOST)) {
        return 2;
    }
    return !driver->attribute(&ordering, WRITES_ORDERING, device) && ordering >= ORDERED_FOR_OWNER;
}

/*
 * texts: {name, PCI bus id}; numbers: {total bytes, dma-buf, GPUDirect RDMA, visibility of remote writes}. An attribute that the driver
 * does not know is 0.
 */
CUDA_CALL(jint, describe)(JNIEnv *env, jclass type, jlong handle, jint ordinal, jobjectArray texts, jlongArray numbers) {
    (void)type;
    const struct cuda_driver *driver = (const struct cuda_driver *)(intptr_t)handle;
    char name[FINDINGS_MAX_TEXT] = "";
    char bus[32] = "";
    int device = 0;
    size_t total = 0;
    int dma_buf = 0;
    int direct = 0;
    int code = driver->get(&device, ordinal);
    if (!code) {
        code = driver->name(name, sizeof name, device);
    }
    if (!code) {
        code = driver->pci_bus_id(bus, sizeof bus, device);
    }
    if (!code) {
        code = driver->total(&total, device);
    }
    if (code) {
        return code;
    }
    if (!driver->export_range || driver->attribute(&dma_buf, DMA_BUF_SUPPORTED, device)) {
        dma_buf = 0;
    }
    if (driver->attribute(&direct, GPU_DIRECT_RDMA_SUPPORTED, device)) {
        direct = 0;
    }
    jlong values[] = {(jlong)total, dma_buf, direct, visibility(driver, device)};
    if (set_text(env, texts, 0, name) && set_text(env, texts, 1, bus)) {
        (*env)->SetLongArrayRegion(env, numbers, 0, 4, values);
    }
    return 0;
}

CUDA_CALL(jlong, open)(JNIEnv *env, jclass type, jlong handle, jint ordinal, jintArray error) {
    (void)type;
    const struct cuda_driver *driver = (const struct cuda_driver *)(intptr_t)handle;
    struct cuda_device *made = calloc(1, sizeof *made);
    jint code = made ? 0 : 2; /* out of memory */
    if (made) {
        made->driver = driver;
        code = driver->get(&made->device, ordinal);
        if (!code) {
            code = driver->retain(&made->context, made->device);
        }
        if (!code) {
            return (jlong)(intptr_t)made;
        }
        free(made);
    }
    (*env)->SetIntArrayRegion(env, error, 0, 1, &code);
    return 0;
}

CUDA_CALL(jint, close)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = device->driver->release(device->device);
    free(device);
    return code;
}

CUDA_CALL(jint, allocate)(JNIEnv *env, jclass type, jlong handle, jlong bytes, jboolean pinned, jlongArray out) {
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = enter(device);
    if (code) {
        return code;
    }
    jlong address = 0;
    if (pinned) {
        void *host = NULL;
        code = device->driver->allocate_host(&host, (size_t)bytes, PORTABLE);
        address = (jlong)(intptr_t)host;
    } else {
        uint64_t made = 0;
        code = device->driver->allocate(&made, (size_t)bytes);
        address = (jlong)made;
    }
    (*env)->SetLongArrayRegion(env, out, 0, 1, &address);
    return leave(device, code);
}

CUDA_CALL(jint, release)(JNIEnv *env, jclass type, jlong handle, jlong address, jboolean pinned) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = enter(device);
    if (code) {
        return code;
    }
    code = pinned ? device->driver->free_host((void *)(intptr_t)address) : device->driver->free((uint64_t)address);
    return leave(device, code);
}

/* Pins memory that is the caller's, or lets it go. */
CUDA_CALL(jint, pin)(JNIEnv *env, jclass type, jlong handle, jlong address, jlong bytes) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = enter(device);
    if (code) {
        return code;
    }
    void *memory = (void *)(intptr_t)address;
    code = bytes > 0 ? device->driver->register_host(memory, (size_t)bytes, PORTABLE)
                     : device->driver->unregister_host(memory);
    return leave(device, code);
}

CUDA_CALL(jlong, createStream)(JNIEnv *env, jclass type, jlong handle, jintArray error) {
    (void)type;
    struct cuda_device *device = device_of(handle);
    void *stream = NULL;
    jint code = enter(device);
    if (!code) {
        code = leave(device, device->driver->create_stream(&stream, STREAM_NON_BLOCKING));
    }
    if (code) {
        (*env)->SetIntArrayRegion(env, error, 0, 1, &code);
        return 0;
    }
    return (jlong)(intptr_t)stream;
}

CUDA_CALL(jint, destroyStream)(JNIEnv *env, jclass type, jlong handle, jlong stream) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = enter(device);
    return code ? code : leave(device, device->driver->destroy_stream((void *)(intptr_t)stream));
}

/*
 * Starts count copies of {to device, device address, host address, bytes} and, when asked, waits for all that the stream has. When a copy
 * cannot be started, those before it are waited for all the same, so that nothing is under way behind an error.
 */
CUDA_CALL(jint, copy)(JNIEnv *env, jclass type, jlong handle, jlong stream_handle, jlongArray copies, jint count, jboolean wait) {
    (void)type;
    struct cuda_device *device = device_of(handle);
    const struct cuda_driver *driver = device->driver;
    void *stream = (void *)(intptr_t)stream_handle;
    jlong fields[MAX_COPIES * COPY_LONGS];
    if (count < 0 || count > MAX_COPIES) {
        return INVALID_VALUE;
    }
    if (count > 0) {
        (*env)->GetLongArrayRegion(env, copies, 0, count * COPY_LONGS, fields);
        if ((*env)->ExceptionCheck(env)) {
            return INVALID_VALUE;
        }
    }
    int code = enter(device);
    if (code) {
        return code;
    }
    for (int i = 0; i < count && !code; i++) {
        const jlong *one = fields + i * COPY_LONGS;
        void *host = (void *)(intptr_t)one[2];
        code = one[0] ? driver->to_device((uint64_t)one[1], host, (size_t)one[3], stream)
                      : driver->to_host(host, (uint64_t)one[1], (size_t)one[3], stream);
    }
    if (wait || code) {
        int waited = driver->synchronize(stream);
        code = code ? code : waited;
    }
    return leave(device, code);
}

/* {memory type, device ordinal, start and bytes of the allocation}; fails for what is no memory of the driver. */
CUDA_CALL(jint, pointer)(JNIEnv *env, jclass type, jlong handle, jlong address, jlongArray out) {
    (void)type;
    struct cuda_device *device = device_of(handle);
    const struct cuda_driver *driver = device->driver;
    int code = enter(device);
    if (code) {
        return code;
    }
    unsigned memory = 0;
    int ordinal = -1;
    uint64_t start = 0;
    size_t bytes = 0;
    code = driver->pointer(&memory, POINTER_MEMORY_TYPE, (uint64_t)address);
    if (!code) {
        code = driver->pointer(&ordinal, POINTER_DEVICE_ORDINAL, (uint64_t)address);
    }
    if (!code) {
        code = driver->pointer(&start, POINTER_RANGE_START, (uint64_t)address);
    }
    if (!code) {
        code = driver->pointer(&bytes, POINTER_RANGE_SIZE, (uint64_t)address);
    }
    code = leave(device, code);
    jlong values[] = {memory, ordinal, (jlong)start, (jlong)bytes};
    (*env)->SetLongArrayRegion(env, out, 0, 4, values);
    return code;
}

/* Copies that the driver would do behind the caller's back become synchronous for this allocation, as GPUDirect wants it. */
CUDA_CALL(jint, syncMemoryOperations)(JNIEnv *env, jclass type, jlong handle, jlong address) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    int code = enter(device);
    unsigned on = 1;
    return code ? code : leave(device, device->driver->set_pointer(&on, POINTER_SYNC_MEMOPS, (uint64_t)address));
}

/* fd[0] becomes a descriptor of the range as a dma-buf. Both ends must lie on pages of the host. */
CUDA_CALL(jint, exportDmaBuf)(JNIEnv *env, jclass type, jlong handle, jlong address, jlong bytes, jintArray fd) {
    (void)type;
    struct cuda_device *device = device_of(handle);
    if (!device->driver->export_range) {
        return NOT_SUPPORTED;
    }
    int code = enter(device);
    if (code) {
        return code;
    }
    jint made = -1;
    code = device->driver->export_range(&made, (uint64_t)address, (size_t)bytes, HANDLE_DMA_BUF_FD, 0);
    (*env)->SetIntArrayRegion(env, fd, 0, 1, &made);
    return leave(device, code);
}

CUDA_CALL(void, closeDescriptor)(JNIEnv *env, jclass type, jint fd) {
    (void)env;
    (void)type;
    close(fd);
}

/* What a network card has written becomes visible to the device's own programs. */
CUDA_CALL(jint, flushRemoteWrites)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    struct cuda_device *device = device_of(handle);
    if (!device->driver->flush_writes) {
        return NOT_SUPPORTED;
    }
    int code = enter(device);
    return code ? code : leave(device, device->driver->flush_writes(FLUSH_CURRENT_CONTEXT, FLUSH_TO_OWNER));
}
