// SPDX-License-Identifier: Apache-2.0
#include "findings.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * The few names of <infiniband/verbs.h> that a probe needs, declared here so that the headers of rdma-core are no
 * build requirement. The functions are part of the library's stable ABI (IBVERBS_1.1).
 */
struct ibv_device;
typedef struct ibv_device **(*get_device_list_fn)(int *count);
typedef void (*free_device_list_fn)(struct ibv_device **list);
typedef const char *(*get_device_name_fn)(struct ibv_device *device);

static void list_devices(void *library, struct findings *out) {
    get_device_list_fn get_list = (get_device_list_fn)dlsym(library, "ibv_get_device_list");
    free_device_list_fn free_list = (free_device_list_fn)dlsym(library, "ibv_free_device_list");
    get_device_name_fn get_name = (get_device_name_fn)dlsym(library, "ibv_get_device_name");
    if (!get_list || !free_list || !get_name) {
        snprintf(out->reason, sizeof out->reason, "libibverbs.so.1 lacks ibv_get_device_list");
        return;
    }
    int count = 0;
    errno = 0;
    struct ibv_device **list = get_list(&count);
    if (!list) {
        snprintf(out->reason, sizeof out->reason, "ibv_get_device_list: %s", strerror(errno));
        return;
    }
    for (int i = 0; i < count && out->device_count < FINDINGS_MAX_DEVICES; i++) {
        const char *name = get_name(list[i]);
        snprintf(out->devices[out->device_count++], FINDINGS_MAX_TEXT, "%s", name ? name : "unnamed");
    }
    free_list(list);
    if (count == 0) {
        snprintf(out->reason, sizeof out->reason, "libibverbs finds no device");
    }
#ifndef MOONCAKE_HAVE_VERBS
    else {
        snprintf(out->reason, sizeof out->reason, "the bridge was built without infiniband/verbs.h");
    }
#endif
}

void rdma_probe(struct findings *out) {
    memset(out, 0, sizeof *out);
    /* Stays open: provider libraries that it loaded register exit handlers and do not survive a dlclose. */
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(out->reason, sizeof out->reason, "%s", error ? error : "libibverbs.so.1 cannot be opened");
        return;
    }
    snprintf(out->driver, sizeof out->driver, "libibverbs.so.1");
    list_devices(library, out);
}
