// SPDX-License-Identifier: Apache-2.0
#include "findings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The driver API's calls by their documented signatures; CUresult 0 is success. */
typedef int (*init_fn)(unsigned int flags);
typedef int (*driver_version_fn)(int *version);
typedef int (*device_count_fn)(int *count);
typedef int (*device_get_fn)(int *device, int ordinal);
typedef int (*device_name_fn)(char *name, int length, int device);
typedef int (*error_string_fn)(int error, const char **text);

struct cuda_driver {
    init_fn init;
    driver_version_fn version;
    device_count_fn count;
    device_get_fn get;
    device_name_fn name;
    error_string_fn error_string;
};

/* Whether every call of the probe is in the library. */
static int resolve(void *library, struct cuda_driver *driver) {
    driver->init = (init_fn)dlsym(library, "cuInit");
    driver->version = (driver_version_fn)dlsym(library, "cuDriverGetVersion");
    driver->count = (device_count_fn)dlsym(library, "cuDeviceGetCount");
    driver->get = (device_get_fn)dlsym(library, "cuDeviceGet");
    driver->name = (device_name_fn)dlsym(library, "cuDeviceGetName");
    driver->error_string = (error_string_fn)dlsym(library, "cuGetErrorString");
    return driver->init && driver->version && driver->count && driver->get && driver->name && driver->error_string;
}

static void refuse(const struct cuda_driver *driver, const char *call, int error, struct findings *out) {
    const char *text = NULL;
    driver->error_string(error, &text);
    snprintf(out->reason, sizeof out->reason, "%s: %d (%s)", call, error, text ? text : "unknown error");
}

static void list_devices(const struct cuda_driver *driver, struct findings *out) {
    int version = 0;
    if (driver->version(&version) == 0) {
        snprintf(out->driver, sizeof out->driver, "CUDA driver %d.%d", version / 1000, version % 1000 / 10);
    }
    int error = driver->init(0);
    if (error != 0) {
        refuse(driver, "cuInit", error, out);
        return;
    }
    int count = 0;
    error = driver->count(&count);
    if (error != 0) {
        refuse(driver, "cuDeviceGetCount", error, out);
        return;
    }
    for (int i = 0; i < count && out->device_count < FINDINGS_MAX_DEVICES; i++) {
        int device = 0;
        char *name = out->devices[out->device_count];
        error = driver->get(&device, i);
        if (error == 0) {
            error = driver->name(name, FINDINGS_MAX_TEXT, device);
        }
        if (error != 0) {
            refuse(driver, "cuDeviceGetName", error, out);
            return;
        }
        out->device_count++;
    }
    if (count == 0) {
        snprintf(out->reason, sizeof out->reason, "the CUDA driver finds no device");
    }
}

void cuda_probe(struct findings *out) {
    memset(out, 0, sizeof *out);
    /* Stays open: the driver keeps threads and exit handlers that do not survive a dlclose. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(out->reason, sizeof out->reason, "%s", error ? error : "libcuda.so.1 cannot be opened");
        return;
    }
    snprintf(out->driver, sizeof out->driver, "libcuda.so.1");
    struct cuda_driver driver;
    if (!resolve(library, &driver)) {
        snprintf(out->reason, sizeof out->reason, "libcuda.so.1 lacks a call of the driver API");
        return;
    }
    list_devices(&driver, out);
}
