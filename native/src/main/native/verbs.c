// SPDX-License-Identifier: Apache-2.0
//
// The verbs calls of VerbsCalls.java. libibverbs is opened at run time; its header is needed to build, because posting and polling are
// inline functions that jump through the device's own table. Without the header the calls exist and say that they cannot work.
//
// Errors: a call that returns a handle returns 0, others return an errno; the Java side turns both into exceptions. Handles are pointers
// that the Java side owns and gives back once; it never calls with one that it has closed.
#include "findings.h"

#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define VERBS_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_VerbsCalls_##name

#ifdef MOONCAKE_HAVE_VERBS

#include <infiniband/verbs.h>

/* The header wraps these names into macros that call the linked library; here they are looked up. */
#undef ibv_reg_mr
#undef ibv_query_port

/* Longs of a descriptor to post and of a completion: VerbsQueuePair.java has the same numbers. */
#define POST_LONGS 6
#define COMPLETION_LONGS 3
#define MAX_BATCH 64

#define FUNCTIONS(X)                                                                                          \
    X(struct ibv_device **, get_device_list, (int *))                                                         \
    X(void, free_device_list, (struct ibv_device **))                                                         \
    X(const char *, get_device_name, (struct ibv_device *))                                                   \
    X(struct ibv_context *, open_device, (struct ibv_device *))                                               \
    X(int, close_device, (struct ibv_context *))                                                              \
    X(int, query_device, (struct ibv_context *, struct ibv_device_attr *))                                    \
    X(int, query_port, (struct ibv_context *, uint8_t, struct ibv_port_attr *))                               \
    X(int, query_gid, (struct ibv_context *, uint8_t, int, union ibv_gid *))                                  \
    X(struct ibv_pd *, alloc_pd, (struct ibv_context *))                                                      \
    X(int, dealloc_pd, (struct ibv_pd *))                                                                     \
    X(struct ibv_mr *, reg_mr, (struct ibv_pd *, void *, size_t, int))                                        \
    X(int, dereg_mr, (struct ibv_mr *))                                                                       \
    X(struct ibv_cq *, create_cq, (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))        \
    X(int, destroy_cq, (struct ibv_cq *))                                                                     \
    X(struct ibv_qp *, create_qp, (struct ibv_pd *, struct ibv_qp_init_attr *))                               \
    X(int, modify_qp, (struct ibv_qp *, struct ibv_qp_attr *, int))                                           \
    X(int, destroy_qp, (struct ibv_qp *))                                                                     \
    X(int, get_async_event, (struct ibv_context *, struct ibv_async_event *))                                 \
    X(void, ack_async_event, (struct ibv_async_event *))

/* An entry of a table of global identifiers that is in use: struct ibv_gid_entry of newer headers. */
struct gid_entry {
    union ibv_gid gid;
    uint32_t index;
    uint32_t port;
    uint32_t type;
    uint32_t interface;
};

static struct {
#define DECLARE(result, name, arguments) result(*name) arguments;
    FUNCTIONS(DECLARE)
#undef DECLARE
    /* NULL in libraries before rdma-core 34. */
    struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int);
    /* NULL in libraries before rdma-core 33; its name there begins with an underscore. */
    ssize_t (*query_gid_table)(struct ibv_context *, struct gid_entry *, size_t, uint32_t, size_t);
} verbs;

static char load_error[FINDINGS_MAX_TEXT];
static int loaded;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. The first library that is named is the process's. */
static void load(const char *name) {
    if (loaded) {
        return;
    }
    loaded = 1;
    /* Never closed again: see rdma.c. */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(load_error, sizeof load_error, "%s", error ? error : "libibverbs cannot be opened");
        return;
    }
    /* POSIX lets dlsym's result be used as a function; the copy through memory keeps ISO C quiet about it. */
#define LOOK_UP(result, name, arguments)                                                       \
    {                                                                                          \
        void *symbol = dlsym(library, "ibv_" #name);                                           \
        if (!symbol) {                                                                         \
            snprintf(load_error, sizeof load_error, "libibverbs lacks ibv_" #name);            \
            return;                                                                            \
        }                                                                                      \
        memcpy(&verbs.name, &symbol, sizeof symbol);                                           \
    }
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    void *optional = dlsym(library, "ibv_reg_dmabuf_mr");
    memcpy(&verbs.reg_dmabuf_mr, &optional, sizeof optional);
    optional = dlsym(library, "_ibv_query_gid_table");
    memcpy(&verbs.query_gid_table, &optional, sizeof optional);
}

/* A device that is open: what VerbsDevice.java holds. */
struct device {
    struct ibv_context *context;
    struct ibv_pd *domain;
    /* Readable once nobody is to wait for events any more. */
    int wake;
};

/* A queue pair with a completion queue of its own: what VerbsQueuePair.java holds. */
struct queue_pair {
    struct ibv_qp *qp;
    struct ibv_cq *cq;
};

static int last_error(void) { return errno ? errno : EIO; }

/* Stores what went wrong where the Java side looks for it, and is what the call returns then. */
static jlong failed(JNIEnv *env, jintArray error, int code) {
    jint value = code;
    (*env)->SetIntArrayRegion(env, error, 0, 1, &value);
    return 0;
}

VERBS_CALL(jstring, unavailable)(JNIEnv *env, jclass type, jstring library) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, library, NULL);
    if (!name) {
        return NULL;
    }
    pthread_mutex_lock(&loading);
    load(name);
    pthread_mutex_unlock(&loading);
    (*env)->ReleaseStringUTFChars(env, library, name);
    return load_error[0] ? (*env)->NewStringUTF(env, load_error) : NULL;
}

VERBS_CALL(jlong, open)(JNIEnv *env, jclass type, jstring name, jintArray error) {
    (void)type;
    const char *wanted = (*env)->GetStringUTFChars(env, name, NULL);
    if (!wanted) {
        return 0;
    }
    int count = 0;
    errno = 0;
    struct ibv_device **list = verbs.get_device_list(&count);
    struct ibv_context *context = NULL;
    int code = list ? ENODEV : last_error();
    for (int i = 0; list && i < count && !context; i++) {
        if (strcmp(verbs.get_device_name(list[i]), wanted) == 0) {
            errno = 0;
            context = verbs.open_device(list[i]);
            code = context ? 0 : last_error();
        }
    }
    (*env)->ReleaseStringUTFChars(env, name, wanted);
    if (list) {
        verbs.free_device_list(list);
    }
    if (!context) {
        return failed(env, error, code);
    }
    errno = 0;
    struct ibv_pd *domain = verbs.alloc_pd(context);
    struct device *made = domain ? malloc(sizeof *made) : NULL;
    int wake = made ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (wake < 0) {
        code = last_error();
        free(made);
        if (domain) {
            verbs.dealloc_pd(domain);
        }
        verbs.close_device(context);
        return failed(env, error, code);
    }
    made->context = context;
    made->domain = domain;
    made->wake = wake;
    return (jlong)(intptr_t)made;
}

VERBS_CALL(jint, close)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    /* The kernel refuses while registrations or queue pairs are left; then nothing has changed. */
    int code = verbs.dealloc_pd(device->domain);
    if (code) {
        return code;
    }
    code = verbs.close_device(device->context);
    close(device->wake);
    free(device);
    return code;
}

/* {max_mr_size, max_qp, max_qp_wr, max_cqe, max_mr, max_qp_rd_atom, phys_port_cnt} */
VERBS_CALL(jint, limits)(JNIEnv *env, jclass type, jlong handle, jlongArray out) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof attr);
    int code = verbs.query_device(device->context, &attr);
    if (code) {
        return code;
    }
    jlong values[] = {attr.max_mr_size > INT64_MAX ? INT64_MAX : (jlong)attr.max_mr_size,
                      attr.max_qp, attr.max_qp_wr, attr.max_cqe, attr.max_mr, attr.max_qp_rd_atom, attr.phys_port_cnt};
    (*env)->SetLongArrayRegion(env, out, 0, sizeof values / sizeof *values, values);
    return 0;
}

/* {state, active_mtu, lid, link_layer, gid_tbl_len} */
VERBS_CALL(jint, port)(JNIEnv *env, jclass type, jlong handle, jint number, jintArray out) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    struct ibv_port_attr attr;
    memset(&attr, 0, sizeof attr);
    int code = verbs.query_port(device->context, (uint8_t)number, &attr);
    if (code) {
        return code;
    }
    jint values[] = {attr.state, attr.active_mtu, attr.lid, attr.link_layer, attr.gid_tbl_len};
    (*env)->SetIntArrayRegion(env, out, 0, sizeof values / sizeof *values, values);
    return 0;
}

/* Entries in use of all ports by one call of the kernel; less than 0 where that is not to be had. */
static ssize_t table_of(struct device *device, struct gid_entry *entries, int count) {
    if (!verbs.query_gid_table) {
        return -1;
    }
    return verbs.query_gid_table(device->context, entries, (size_t)count, 0, sizeof *entries);
}

VERBS_CALL(jint, gids)(JNIEnv *env, jclass type, jlong handle, jint port, jint count, jbyteArray out) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    struct gid_entry *entries = calloc((size_t)count + 1, sizeof *entries);
    if (!entries) {
        return ENOMEM;
    }
    ssize_t found = table_of(device, entries, count);
    if (found < 0) {
        found = 0;
        for (int i = 0; i < count; i++) {
            struct gid_entry *entry = &entries[found];
            memset(entry, 0, sizeof *entry);
            entry->index = (uint32_t)i;
            entry->port = (uint32_t)port;
            found += verbs.query_gid(device->context, (uint8_t)port, i, &entry->gid) == 0;
        }
    }
    for (ssize_t i = 0; i < found; i++) {
        if (entries[i].port == (uint32_t)port && entries[i].index < (uint32_t)count) {
            jint offset = (jint)(entries[i].index * sizeof(union ibv_gid));
            (*env)->SetByteArrayRegion(env, out, offset, sizeof(union ibv_gid), (const jbyte *)entries[i].gid.raw);
        }
    }
    free(entries);
    return 0;
}

/* The port or the queue pair that an event is about, or 0. */
static int subject(const struct ibv_async_event *event) {
    switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        /* The driver keeps it until the event is acknowledged. */
        return (int)event->element.qp->qp_num;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return event->element.port_num;
    default:
        return 0;
    }
}

/* Waits for an event: 1, and out becomes {type, port or queue pair}; 0 when there was none in time or the wait was ended; or -errno. */
VERBS_CALL(jint, nextEvent)(JNIEnv *env, jclass type, jlong handle, jint timeoutMillis, jintArray out) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    struct pollfd from[] = {{.fd = device->wake, .events = POLLIN}, {.fd = device->context->async_fd, .events = POLLIN}};
    if (poll(from, 2, timeoutMillis) < 0) {
        return errno == EINTR ? 0 : -last_error();
    }
    if (from[0].revents || !from[1].revents) {
        return 0;
    }
    struct ibv_async_event event;
    errno = 0;
    if (!(from[1].revents & POLLIN) || verbs.get_async_event(device->context, &event)) {
        return -last_error();
    }
    jint values[] = {event.event_type, subject(&event)};
    /* At once: destroying a queue pair waits for it. */
    verbs.ack_async_event(&event);
    (*env)->SetIntArrayRegion(env, out, 0, 2, values);
    return 1;
}

/* Ends all waits for events, those to come too. */
VERBS_CALL(jint, endEvents)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    return eventfd_write(((struct device *)(intptr_t)handle)->wake, 1) ? last_error() : 0;
}

/* keys[0] becomes the local key, keys[1] the remote key. */
VERBS_CALL(jlong, register)(JNIEnv *env, jclass type, jlong handle, jlong address, jlong length, jint access,
                            jintArray keys, jintArray error) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    errno = 0;
    struct ibv_mr *region = verbs.reg_mr(device->domain, (void *)(intptr_t)address, (size_t)length, access);
    if (!region) {
        return failed(env, error, last_error());
    }
    jint values[] = {(jint)region->lkey, (jint)region->rkey};
    (*env)->SetIntArrayRegion(env, keys, 0, 2, values);
    return (jlong)(intptr_t)region;
}

VERBS_CALL(jboolean, dmaBuf)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    return verbs.reg_dmabuf_mr != NULL;
}

/* As register, of length bytes from offset of a dma-buf, which peers and own requests address from iova on. The descriptor stays the caller's. */
VERBS_CALL(jlong, registerDmaBuf)(JNIEnv *env, jclass type, jlong handle, jint fd, jlong offset, jlong length, jlong iova,
                                  jint access, jintArray keys, jintArray error) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    if (!verbs.reg_dmabuf_mr) {
        return failed(env, error, ENOSYS);
    }
    errno = 0;
    struct ibv_mr *region =
        verbs.reg_dmabuf_mr(device->domain, (uint64_t)offset, (size_t)length, (uint64_t)iova, fd, access);
    if (!region) {
        return failed(env, error, last_error());
    }
    jint values[] = {(jint)region->lkey, (jint)region->rkey};
    (*env)->SetIntArrayRegion(env, keys, 0, 2, values);
    return (jlong)(intptr_t)region;
}

VERBS_CALL(jint, deregister)(JNIEnv *env, jclass type, jlong region) {
    (void)env;
    (void)type;
    return verbs.dereg_mr((struct ibv_mr *)(intptr_t)region);
}

/* number[0] becomes the queue pair's number. */
VERBS_CALL(jlong, createQueuePair)(JNIEnv *env, jclass type, jlong handle, jint depth, jintArray number, jintArray error) {
    (void)type;
    struct device *device = (struct device *)(intptr_t)handle;
    struct queue_pair *pair = calloc(1, sizeof *pair);
    if (!pair) {
        return failed(env, error, ENOMEM);
    }
    errno = 0;
    pair->cq = verbs.create_cq(device->context, depth, NULL, NULL, 0);
    if (!pair->cq) {
        int code = last_error();
        free(pair);
        return failed(env, error, code);
    }
    struct ibv_qp_init_attr attr = {
        .send_cq = pair->cq,
        .recv_cq = pair->cq,
        .cap = {.max_send_wr = (uint32_t)depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    pair->qp = verbs.create_qp(device->domain, &attr);
    if (!pair->qp) {
        int code = last_error();
        verbs.destroy_cq(pair->cq);
        free(pair);
        return failed(env, error, code);
    }
    jint value = (jint)pair->qp->qp_num;
    (*env)->SetIntArrayRegion(env, number, 0, 1, &value);
    return (jlong)(intptr_t)pair;
}

/* When it returns the device has left all memory that the queue pair was told of. */
VERBS_CALL(jint, destroyQueuePair)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    struct queue_pair *pair = (struct queue_pair *)(intptr_t)handle;
    int code = verbs.destroy_qp(pair->qp);
    int closing = verbs.destroy_cq(pair->cq);
    free(pair);
    return code ? code : closing;
}

VERBS_CALL(jint, toInit)(JNIEnv *env, jclass type, jlong handle, jint port, jint access) {
    (void)env;
    (void)type;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port, .pkey_index = 0, .qp_access_flags = (unsigned)access};
    return verbs.modify_qp(((struct queue_pair *)(intptr_t)handle)->qp, &attr,
                           IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

/* gidIndex below 0: addressed by lid alone, as InfiniBand within one subnet allows. */
VERBS_CALL(jint, toReadyToReceive)(JNIEnv *env, jclass type, jlong handle, jint port, jint gidIndex, jbyteArray peerGid,
                                   jint peerLid, jint peerNumber, jint peerSequence, jint mtu, jint readDepth) {
    (void)type;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)mtu,
        .dest_qp_num = (uint32_t)peerNumber,
        .rq_psn = (uint32_t)peerSequence,
        .max_dest_rd_atomic = (uint8_t)readDepth,
        .min_rnr_timer = 12,
        .ah_attr = {.dlid = (uint16_t)peerLid, .port_num = (uint8_t)port},
    };
    if (gidIndex >= 0) {
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.sgid_index = (uint8_t)gidIndex;
        attr.ah_attr.grh.hop_limit = 64;
        (*env)->GetByteArrayRegion(env, peerGid, 0, sizeof attr.ah_attr.grh.dgid.raw,
                                   (jbyte *)attr.ah_attr.grh.dgid.raw);
        if ((*env)->ExceptionCheck(env)) {
            return EINVAL;
        }
    }
    return verbs.modify_qp(((struct queue_pair *)(intptr_t)handle)->qp, &attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

VERBS_CALL(jint, toReadyToSend)(JNIEnv *env, jclass type, jlong handle, jint sequence, jint timeout, jint retries,
                                jint readDepth) {
    (void)env;
    (void)type;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = (uint8_t)timeout,
        .retry_cnt = (uint8_t)retries,
        .rnr_retry = (uint8_t)retries,
        .sq_psn = (uint32_t)sequence,
        .max_rd_atomic = (uint8_t)readDepth,
    };
    return verbs.modify_qp(((struct queue_pair *)(intptr_t)handle)->qp, &attr,
                           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                               IBV_QP_MAX_QP_RD_ATOMIC);
}

VERBS_CALL(jint, toError)(JNIEnv *env, jclass type, jlong handle) {
    (void)env;
    (void)type;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    return verbs.modify_qp(((struct queue_pair *)(intptr_t)handle)->qp, &attr, IBV_QP_STATE);
}

/* Returns how many were posted, or -errno when none was. One chain of at most MAX_BATCH, every request signalled. */
VERBS_CALL(jint, post)(JNIEnv *env, jclass type, jlong handle, jlongArray descriptors, jint count) {
    (void)type;
    jlong fields[MAX_BATCH * POST_LONGS];
    struct ibv_sge pieces[MAX_BATCH];
    struct ibv_send_wr requests[MAX_BATCH];
    if (count < 1 || count > MAX_BATCH) {
        return -EINVAL;
    }
    (*env)->GetLongArrayRegion(env, descriptors, 0, count * POST_LONGS, fields);
    if ((*env)->ExceptionCheck(env)) {
        return -EINVAL;
    }
    memset(requests, 0, sizeof *requests * (size_t)count);
    for (int i = 0; i < count; i++) {
        const jlong *from = fields + i * POST_LONGS;
        pieces[i].addr = (uint64_t)from[2];
        pieces[i].length = (uint32_t)from[3];
        pieces[i].lkey = (uint32_t)((uint64_t)from[5] >> 32);
        requests[i].wr_id = (uint64_t)from[0];
        requests[i].next = i + 1 < count ? requests + i + 1 : NULL;
        requests[i].sg_list = pieces + i;
        /* A piece of length 0 would mean 2 GiB to some cards. */
        requests[i].num_sge = from[3] > 0;
        requests[i].opcode = from[1] ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
        requests[i].send_flags = IBV_SEND_SIGNALED;
        requests[i].wr.rdma.remote_addr = (uint64_t)from[4];
        requests[i].wr.rdma.rkey = (uint32_t)from[5];
    }
    struct ibv_send_wr *bad = NULL;
    int code = ibv_post_send(((struct queue_pair *)(intptr_t)handle)->qp, requests, &bad);
    if (!code) {
        return count;
    }
    int posted = bad ? (int)(bad - requests) : 0;
    return posted > 0 ? posted : -(code > 0 ? code : EIO);
}

/* Returns how many completions were taken, at most MAX_BATCH, or -errno. */
VERBS_CALL(jint, poll)(JNIEnv *env, jclass type, jlong handle, jlongArray out, jint most) {
    (void)type;
    struct ibv_wc found[MAX_BATCH];
    jlong fields[MAX_BATCH * COMPLETION_LONGS];
    int count = ibv_poll_cq(((struct queue_pair *)(intptr_t)handle)->cq, most < MAX_BATCH ? most : MAX_BATCH, found);
    if (count < 0) {
        return -EIO;
    }
    for (int i = 0; i < count; i++) {
        fields[i * COMPLETION_LONGS] = (jlong)found[i].wr_id;
        fields[i * COMPLETION_LONGS + 1] = found[i].status;
        fields[i * COMPLETION_LONGS + 2] = found[i].vendor_err;
    }
    if (count > 0) {
        (*env)->SetLongArrayRegion(env, out, 0, count * COMPLETION_LONGS, fields);
    }
    return count;
}

#else /* the build machine had no <infiniband/verbs.h> */

VERBS_CALL(jstring, unavailable)(JNIEnv *env, jclass type, jstring library) {
    (void)type;
    (void)library;
    return (*env)->NewStringUTF(env, "the bridge was built without infiniband/verbs.h");
}

#endif
