// SPDX-License-Identifier: Apache-2.0
//
// libibverbs with a network card that reaches fake GPUs (cuda_fake.c). It stands in front of the real library, which it is linked with:
// what is not defined here is looked up there. So devices, queue pairs and transfers are real, and what they move on the GPU's side is the
// memory behind the fake device addresses, under these very addresses.
//
// - A dma-buf is registered when it is one of the fake driver, with the rules of the kernel: inside of what was exported, and offset and
//   address equal within a page.
// - A device address by itself is registered when the kernel module is said to be loaded; else the real library refuses it, since nothing
//   is mapped there.
// - Both can be made to fail, and registrations of GPU memory are counted.
//
// The test's side is FakeVerbs.java, through the Java_... functions at the end.
#include "cuda_fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <jni.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#undef ibv_reg_mr

#define MAX_REGISTRATIONS 4096

enum { DMA_BUF, PEER_MEMORY, WAYS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int peer_memory;
static int faults[WAYS];
static struct registration {
    struct ibv_mr *region;
    int way;
} registrations[MAX_REGISTRATIONS];
static int live;
static long made[WAYS];

static void *real(const char *name) {
    /* It is open already, as a part of this library. */
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

static int due(int way) {
    pthread_mutex_lock(&lock);
    int error = faults[way];
    pthread_mutex_unlock(&lock);
    return error;
}

static struct ibv_mr *keep(struct ibv_mr *region, int way) {
    if (region) {
        pthread_mutex_lock(&lock);
        if (live < MAX_REGISTRATIONS) {
            registrations[live++] = (struct registration){region, way};
        }
        made[way]++;
        pthread_mutex_unlock(&lock);
    }
    return region;
}

static struct ibv_mr *refuse(int error) {
    errno = error;
    return NULL;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *domain, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
    struct fake_dma_buf buffer;
    uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
    int error = due(DMA_BUF);
    if (error) {
        return refuse(error);
    }
    if (pread(fd, &buffer, sizeof buffer, 0) != (ssize_t)sizeof buffer || strcmp(buffer.kind, FAKE_DMA_BUF_KIND) != 0) {
        return refuse(EBADF);
    }
    if (offset > buffer.bytes || length > buffer.bytes - offset || (offset & in_page) != (iova & in_page)) {
        return refuse(EINVAL);
    }
    return keep(ibv_reg_mr_iova(domain, buffer.memory + offset, length, iova, access), DMA_BUF);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *domain, void *address, size_t length, int access) {
    char *memory = fake_cuda_memory((uint64_t)(uintptr_t)address, length);
    pthread_mutex_lock(&lock);
    int through_module = memory && peer_memory;
    pthread_mutex_unlock(&lock);
    if (through_module) {
        int error = due(PEER_MEMORY);
        return error ? refuse(error)
                     : keep(ibv_reg_mr_iova(domain, memory, length, (uint64_t)(uintptr_t)address, access), PEER_MEMORY);
    }
    struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, int);
    void *symbol = real("ibv_reg_mr");
    memcpy(&next, &symbol, sizeof symbol);
    return next ? next(domain, address, length, access) : refuse(ENOSYS);
}

int ibv_dereg_mr(struct ibv_mr *region) {
    int (*next)(struct ibv_mr *);
    void *symbol = real("ibv_dereg_mr");
    memcpy(&next, &symbol, sizeof symbol);
    if (!next) {
        return ENOSYS;
    }
    pthread_mutex_lock(&lock);
    /* Under the lock: the address may be another registration's as soon as it is free. */
    int code = next(region);
    for (int i = 0; !code && i < live; i++) {
        if (registrations[i].region == region) {
            registrations[i] = registrations[--live];
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---------------------------------------------------------------- the test's side */

#define TEST_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_FakeVerbs_##name

TEST_CALL(void, configure)(JNIEnv *env, jclass type, jboolean module, jint dma_buf_error, jint peer_memory_error) {
    (void)env;
    (void)type;
    pthread_mutex_lock(&lock);
    peer_memory = module;
    faults[DMA_BUF] = dma_buf_error;
    faults[PEER_MEMORY] = peer_memory_error;
    made[DMA_BUF] = 0;
    made[PEER_MEMORY] = 0;
    pthread_mutex_unlock(&lock);
}

/* {live by dma-buf, live by peer memory; made by dma-buf, made by peer memory} */
TEST_CALL(void, counts)(JNIEnv *env, jclass type, jlongArray out) {
    (void)type;
    jlong values[2 * WAYS] = {0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < live; i++) {
        values[registrations[i].way]++;
    }
    values[WAYS + DMA_BUF] = made[DMA_BUF];
    values[WAYS + PEER_MEMORY] = made[PEER_MEMORY];
    pthread_mutex_unlock(&lock);
    (*env)->SetLongArrayRegion(env, out, 0, 2 * WAYS, values);
}
