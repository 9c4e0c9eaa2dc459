// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver for tests. It has no GPU, and is as unkind as one may be:
//
// - Device addresses are reserved and mapped to nothing, so a CPU that touches one ends the process. What lies there is kept elsewhere.
// - A copy that was started happens when somebody waits for it, and not before: who forgets to wait, or uses a buffer again too early,
//   moves wrong bytes.
// - The range behind a dma-buf is what was exported, and ends where that ended.
// - Copies take pinned host memory only, and memory of the current context's device only.
// - Every call can be made to fail, once or for ever, and everything that is handed out is counted.
//
// The test's side is FakeCuda.java, through the Java_... functions at the end.
#include "cuda_fake.h"

#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEVICES 4
#define MAX_RANGES 1024
#define MAX_FAULTS 16
#define MAX_STACK 8
#define SPACE_BYTES (1ULL << 30)
#define GRAIN_BYTES (64ULL << 10)
#define POISON 0xDD
#define WAIT_STEP_MILLIS 5

enum { SUCCESS = 0, INVALID = 1, NO_MEMORY = 2, NOT_INITIALIZED = 3, BAD_CONTEXT = 201, BAD_HANDLE = 400, UNSUPPORTED = 801 };

struct range {
    uint64_t start;
    size_t bytes;
    int device; /* -1: host memory that the driver allocated, -2: host memory that it pinned */
};

struct device {
    uint64_t space; /* addresses that are handed out: mapped without any rights */
    char *bytes;    /* what lies there */
    int retained;
};

struct copy {
    struct copy *next;
    int to_device;
    uint64_t device_address;
    char *host;
    size_t bytes;
};

struct stream {
    int device;
    struct copy *first;
    struct copy **last;
};

struct fault {
    char call[48];
    int after;
    int times; /* -1: for ever */
    int error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[MAX_DEVICES];
static int device_count = 2;
static int dma_buf_supported = 1;
static int flush_options = 1;
static int writes_ordering;
static int initialized;
static struct range ranges[MAX_RANGES];
static int range_count;
static struct fault faults[MAX_FAULTS];
static int fault_count;
static int live_streams;
static int waiting_copies;
static long done_copies;
static long done_flushes;
static long done_exports;
static int slow_millis;
static __thread struct device *contexts[MAX_STACK];
static __thread int context_depth;

/* ---------------------------------------------------------------- helpers, under the lock */

static int fault(const char *call) {
    for (int i = 0; i < fault_count; i++) {
        struct fault *one = &faults[i];
        if (strcmp(one->call, call) != 0 || one->times == 0) {
            continue;
        }
        if (one->after > 0) {
            one->after--;
            continue;
        }
        if (one->times > 0) {
            one->times--;
        }
        return one->error;
    }
    return SUCCESS;
}

/* Begins a call: the lock, a fault that is due, and the device of the current context when it needs one. */
static int begin(const char *call, int *device) {
    pthread_mutex_lock(&lock);
    int code = fault(call);
    if (!code && !initialized && strcmp(call, "cuInit") != 0) {
        code = NOT_INITIALIZED;
    }
    if (!code && device) {
        if (context_depth == 0 || contexts[context_depth - 1]->retained == 0) {
            code = BAD_CONTEXT;
        } else {
            *device = (int)(contexts[context_depth - 1] - devices);
        }
    }
    return code;
}

static int end(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}

static struct range *range_of(uint64_t address, size_t bytes) {
    for (int i = 0; i < range_count; i++) {
        struct range *one = &ranges[i];
        if (address >= one->start && bytes <= one->bytes && address - one->start <= one->bytes - bytes) {
            return one;
        }
    }
    return NULL;
}

static int add(uint64_t start, size_t bytes, int device) {
    if (range_count == MAX_RANGES) {
        return NO_MEMORY;
    }
    ranges[range_count++] = (struct range){start, bytes, device};
    return SUCCESS;
}

static void drop(struct range *one) { *one = ranges[--range_count]; }

static char *backing(uint64_t address, int device) { return devices[device].bytes + (address - devices[device].space); }

static void run(struct stream *stream, int discard) {
    while (stream->first) {
        struct copy *one = stream->first;
        stream->first = one->next;
        if (!discard) {
            char *there = backing(one->device_address, stream->device);
            memcpy(one->to_device ? there : one->host, one->to_device ? one->host : there, one->bytes);
            done_copies++;
        }
        waiting_copies--;
        free(one);
    }
    stream->last = &stream->first;
}

/* ---------------------------------------------------------------- the driver's calls */

int cuInit(unsigned flags) {
    int code = begin("cuInit", NULL);
    if (!code && flags != 0) {
        code = INVALID;
    }
    for (int i = 0; !code && !initialized && i < MAX_DEVICES; i++) {
        void *space = mmap(NULL, SPACE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        void *bytes = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (space == MAP_FAILED || bytes == MAP_FAILED) {
            code = NO_MEMORY;
        } else {
            devices[i] = (struct device){(uint64_t)(uintptr_t)space, bytes, 0};
        }
    }
    initialized |= !code;
    return end(code);
}

int cuDriverGetVersion(int *version) {
    *version = 12040;
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    int code = begin("cuDeviceGetCount", NULL);
    *count = device_count;
    return end(code);
}

int cuDeviceGet(int *device, int ordinal) {
    int code = begin("cuDeviceGet", NULL);
    if (!code && (ordinal < 0 || ordinal >= device_count)) {
        code = 101;
    }
    *device = ordinal;
    return end(code);
}

int cuDeviceGetName(char *name, int length, int device) {
    int code = begin("cuDeviceGetName", NULL);
    snprintf(name, (size_t)length, "Fake GPU %d", device);
    return end(code);
}

int cuGetErrorName(int error, const char **text) {
    static const struct {
        int error;
        const char *name;
    } names[] = {{INVALID, "CUDA_ERROR_INVALID_VALUE"},        {NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {101, "CUDA_ERROR_INVALID_DEVICE"},           {BAD_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {BAD_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {719, "CUDA_ERROR_LAUNCH_FAILED"},            {UNSUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
                 {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].error == error) {
            *text = names[i].name;
            return SUCCESS;
        }
    }
    *text = NULL;
    return INVALID;
}

int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    int code = begin("cuDeviceTotalMem_v2", NULL);
    *bytes = SPACE_BYTES;
    return end(code);
}

int cuDeviceGetPCIBusId(char *id, int length, int device) {
    int code = begin("cuDeviceGetPCIBusId", NULL);
    snprintf(id, (size_t)length, "0000:%02X:00.0", 0xC0 + device);
    return end(code);
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    int code = begin("cuDeviceGetAttribute", NULL);
    switch (attribute) {
    case 116: *value = 1; break;
    case 117: *value = flush_options; break;
    case 118: *value = writes_ordering; break;
    case 124: *value = dma_buf_supported; break;
    default: *value = 0;
    }
    return end(code);
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    int code = begin("cuDevicePrimaryCtxRetain", NULL);
    if (!code) {
        devices[device].retained++;
        *context = &devices[device];
    }
    return end(code);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    int code = begin("cuDevicePrimaryCtxRelease_v2", NULL);
    if (!code && devices[device].retained == 0) {
        code = BAD_CONTEXT;
    }
    if (!code) {
        devices[device].retained--;
    }
    return end(code);
}

int cuCtxPushCurrent_v2(void *context) {
    int code = begin("cuCtxPushCurrent_v2", NULL);
    if (!code && context_depth == MAX_STACK) {
        code = BAD_CONTEXT;
    }
    if (!code) {
        contexts[context_depth++] = context;
    }
    return end(code);
}

int cuCtxPopCurrent_v2(void **context) {
    int code = begin("cuCtxPopCurrent_v2", NULL);
    if (!code && context_depth == 0) {
        code = BAD_CONTEXT;
    }
    if (!code) {
        *context = contexts[--context_depth];
    }
    return end(code);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    int device = 0;
    int code = begin("cuMemAlloc_v2", &device);
    uint64_t from = code ? 0 : devices[device].space + GRAIN_BYTES;
    uint64_t limit = code ? 0 : devices[device].space + SPACE_BYTES - GRAIN_BYTES;
    /* First fit: behind each allocation that is in the way. */
    for (int i = 0; !code && i < range_count;) {
        struct range *one = &ranges[i++];
        if (one->device == device && one->start < from + bytes && from < one->start + one->bytes) {
            from = (one->start + one->bytes + 2 * GRAIN_BYTES - 1) & ~(GRAIN_BYTES - 1);
            i = 0;
        }
    }
    if (!code && (bytes == 0 || bytes > limit - from || from > limit)) {
        code = bytes == 0 ? INVALID : NO_MEMORY;
    }
    if (!code) {
        code = add(from, bytes, device);
        *address = from;
    }
    return end(code);
}

int cuMemFree_v2(uint64_t address) {
    int device = 0;
    int code = begin("cuMemFree_v2", &device);
    struct range *one = code ? NULL : range_of(address, 1);
    if (!code && (!one || one->start != address || one->device != device)) {
        code = INVALID;
    }
    if (!code) {
        memset(backing(address, device), POISON, one->bytes);
        drop(one);
    }
    return end(code);
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    (void)flags;
    int device = 0;
    int code = begin("cuMemHostAlloc", &device);
    void *made = code ? NULL : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!code && made == MAP_FAILED) {
        code = NO_MEMORY;
    }
    if (!code) {
        memset(made, POISON, bytes);
        code = add((uint64_t)(uintptr_t)made, bytes, -1);
        *address = made;
    }
    return end(code);
}

int cuMemFreeHost(void *address) {
    int device = 0;
    int code = begin("cuMemFreeHost", &device);
    struct range *one = code ? NULL : range_of((uint64_t)(uintptr_t)address, 1);
    if (!code && (!one || one->device != -1)) {
        code = INVALID;
    }
    if (!code) {
        /* Unmapped: who still uses it ends the process. */
        munmap(address, one->bytes);
        drop(one);
    }
    return end(code);
}

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
    (void)flags;
    int device = 0;
    int code = begin("cuMemHostRegister_v2", &device);
    return end(code ? code : add((uint64_t)(uintptr_t)address, bytes, -2));
}

int cuMemHostUnregister(void *address) {
    int device = 0;
    int code = begin("cuMemHostUnregister", &device);
    struct range *one = code ? NULL : range_of((uint64_t)(uintptr_t)address, 1);
    if (!code && (!one || one->device != -2)) {
        code = INVALID;
    }
    if (!code) {
        drop(one);
    }
    return end(code);
}

int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    int device = 0;
    int code = begin("cuStreamCreate", &device);
    struct stream *made = code ? NULL : calloc(1, sizeof *made);
    if (made) {
        made->device = device;
        made->last = &made->first;
        live_streams++;
        *stream = made;
    }
    return end(code);
}

int cuStreamDestroy_v2(void *handle) {
    int device = 0;
    int code = begin("cuStreamDestroy_v2", &device);
    if (!code) {
        run(handle, 0);
        free(handle);
        live_streams--;
    }
    return end(code);
}

/* An error at the wait: what was started has been lost. */
int cuStreamSynchronize(void *handle) {
    int device = 0;
    int code = begin("cuStreamSynchronize", &device);
    /* In steps, so that a wait ends when it is told to. */
    for (int waited = 0; waited < slow_millis; waited += WAIT_STEP_MILLIS) {
        struct timespec pause = {0, WAIT_STEP_MILLIS * 1000000L};
        end(0);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
    }
    run(handle, code != 0);
    return end(code);
}

static int start(const char *call, int to_device, uint64_t address, void *host, size_t bytes, struct stream *stream) {
    int device = 0;
    int code = begin(call, &device);
    struct range *there = code ? NULL : range_of(address, bytes);
    struct range *here = code ? NULL : range_of((uint64_t)(uintptr_t)host, bytes);
    if (!code && (!there || there->device != device || !here || here->device >= 0 || stream->device != device)) {
        code = INVALID;
    }
    struct copy *made = code ? NULL : malloc(sizeof *made);
    if (made) {
        *made = (struct copy){NULL, to_device, address, host, bytes};
        *stream->last = made;
        stream->last = &made->next;
        waiting_copies++;
    }
    return end(code);
}

int cuMemcpyDtoHAsync_v2(void *host, uint64_t address, size_t bytes, void *stream) {
    return start("cuMemcpyDtoHAsync_v2", 0, address, host, bytes, stream);
}

int cuMemcpyHtoDAsync_v2(uint64_t address, const void *host, size_t bytes, void *stream) {
    return start("cuMemcpyHtoDAsync_v2", 1, address, (void *)(uintptr_t)host, bytes, stream);
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    int code = begin("cuPointerGetAttribute", NULL);
    struct range *one = code ? NULL : range_of(address, 1);
    if (!code && !one) {
        code = INVALID;
    }
    if (!code) {
        switch (attribute) {
        case 2: *(unsigned *)value = one->device >= 0 ? 2 : 1; break;
        case 9: *(int *)value = one->device >= 0 ? one->device : 0; break;
        case 11: *(uint64_t *)value = one->start; break;
        case 12: *(size_t *)value = one->bytes; break;
        default: code = INVALID;
        }
    }
    return end(code);
}

int cuPointerSetAttribute(const void *value, int attribute, uint64_t address) {
    (void)value;
    int code = begin("cuPointerSetAttribute", NULL);
    return end(code ? code : attribute == 6 && range_of(address, 1) ? SUCCESS : INVALID);
}

int cuFlushGPUDirectRDMAWrites(int target, int scope) {
    (void)target;
    (void)scope;
    int device = 0;
    int code = begin("cuFlushGPUDirectRDMAWrites", &device);
    if (!code && !(flush_options & 1)) {
        code = UNSUPPORTED;
    }
    done_flushes += !code;
    return end(code);
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags) {
    int device = 0;
    int code = begin("cuMemGetHandleForAddressRange", &device);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct range *one = code ? NULL : range_of(address, 1);
    if (!code && (type != 1 || flags != 0 || address % page != 0 || bytes % page != 0 || !one || one->device != device)) {
        code = INVALID;
    }
    if (!code && !dma_buf_supported) {
        code = UNSUPPORTED;
    }
    if (!code) {
        struct fake_dma_buf buffer = {FAKE_DMA_BUF_KIND, backing(address, device), bytes};
        int fd = memfd_create(FAKE_DMA_BUF_KIND, MFD_CLOEXEC);
        if (fd < 0 || write(fd, &buffer, sizeof buffer) != (ssize_t)sizeof buffer) {
            if (fd >= 0) {
                close(fd);
            }
            code = NO_MEMORY;
        } else {
            *(int *)handle = fd;
            done_exports++;
        }
    }
    return end(code);
}

/* ---------------------------------------------------------------- the network card's side */

char *fake_cuda_memory(uint64_t address, size_t bytes) {
    pthread_mutex_lock(&lock);
    struct range *one = range_of(address, bytes);
    char *memory = one && one->device >= 0 ? backing(address, one->device) : NULL;
    pthread_mutex_unlock(&lock);
    return memory;
}

/* ---------------------------------------------------------------- the test's side */

#define TEST_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_FakeCuda_##name

TEST_CALL(void, configure)(JNIEnv *env, jclass type, jint count, jboolean dma_buf) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    device_count = count < MAX_DEVICES ? count : MAX_DEVICES;
    dma_buf_supported = dma_buf;
    fault_count = 0;
    slow_millis = 0;
    flush_options = 1;
    writes_ordering = 0;
    done_copies = 0;
    done_flushes = 0;
    done_exports = 0;
    pthread_mutex_unlock(&lock);
}

TEST_CALL(void, failCalls)(JNIEnv *env, jclass type, jstring call, jint after, jint times, jint error) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, call, NULL);
    if (!name) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (fault_count < MAX_FAULTS) {
        struct fault *made = &faults[fault_count++];
        snprintf(made->call, sizeof made->call, "%s", name);
        made->after = after;
        made->times = times;
        made->error = error;
    }
    pthread_mutex_unlock(&lock);
    (*env)->ReleaseStringUTFChars(env, call, name);
}

TEST_CALL(void, healAll)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    fault_count = 0;
    pthread_mutex_unlock(&lock);
}

TEST_CALL(void, remoteWrites)(JNIEnv *env, jclass type, jint options, jint ordering) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    flush_options = options;
    writes_ordering = ordering;
    pthread_mutex_unlock(&lock);
}

TEST_CALL(void, slowWaits)(JNIEnv *env, jclass type, jint millis) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    slow_millis = millis;
    pthread_mutex_unlock(&lock);
}

/* {device allocations, pinned ranges, streams, contexts, copies that wait; copies done, flushes of remote writes, dma-bufs exported} */
TEST_CALL(void, counts)(JNIEnv *env, jclass type, jlongArray out) {
    (void)type;
    jlong values[8] = {0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < range_count; i++) {
        values[ranges[i].device >= 0 ? 0 : 1]++;
    }
    values[2] = live_streams;
    for (int i = 0; i < MAX_DEVICES; i++) {
        values[3] += devices[i].retained;
    }
    values[4] = waiting_copies;
    values[5] = done_copies;
    values[6] = done_flushes;
    values[7] = done_exports;
    pthread_mutex_unlock(&lock);
    (*env)->SetLongArrayRegion(env, out, 0, 8, values);
}

/* What lies on the device, by the back door: synchronous, for filling and looking. */
TEST_CALL(jboolean, peekOrPoke)(JNIEnv *env, jclass type, jboolean poke, jlong address, jlong host, jlong bytes) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    struct range *one = range_of((uint64_t)address, (size_t)bytes);
    int found = one && one->device >= 0;
    if (found) {
        char *there = backing((uint64_t)address, one->device);
        char *here = (char *)(intptr_t)host;
        memcpy(poke ? there : here, poke ? here : there, (size_t)bytes);
    }
    pthread_mutex_unlock(&lock);
    return found ? JNI_TRUE : JNI_FALSE;
}
