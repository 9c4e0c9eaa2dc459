// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"
#include "findings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The system's driver and the one that tests name. */
#define MAX_DRIVERS 4

static struct opened {
    char library[FINDINGS_MAX_TEXT];
    struct cuda_driver driver;
} opened[MAX_DRIVERS];

static size_t opened_count;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static const struct cuda_driver *resolve(void *library, const char *name, char *error, size_t error_size) {
    struct cuda_driver *driver = &opened[opened_count].driver;
    void *symbol;
    /* POSIX lets dlsym's result be used as a function; the copy through memory keeps ISO C quiet about it. */
#define OPTIONAL(field, symbol_name, arguments) \
    symbol = dlsym(library, symbol_name);       \
    memcpy(&driver->field, &symbol, sizeof symbol);
#define REQUIRED(field, symbol_name, arguments)                              \
    OPTIONAL(field, symbol_name, arguments)                                  \
    if (!symbol) {                                                           \
        snprintf(error, error_size, "%s lacks %s", name, symbol_name);       \
        return NULL;                                                         \
    }
    CUDA_FUNCTIONS(REQUIRED)
    CUDA_MEMORY_FUNCTIONS(REQUIRED)
    CUDA_OPTIONAL_FUNCTIONS(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
    snprintf(opened[opened_count++].library, FINDINGS_MAX_TEXT, "%s", name);
    return driver;
}

static const struct cuda_driver *open_driver(const char *name, char *error, size_t error_size) {
    for (size_t i = 0; i < opened_count; i++) {
        if (strcmp(opened[i].library, name) == 0) {
            return &opened[i].driver;
        }
    }
    void *library = opened_count < MAX_DRIVERS && strlen(name) < FINDINGS_MAX_TEXT ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        const char *reason = dlerror();
        if (reason) {
            snprintf(error, error_size, "%s", reason);
        } else {
            snprintf(error, error_size, "%s cannot be opened", name);
        }
        return NULL;
    }
    return resolve(library, name, error, error_size);
}

const struct cuda_driver *cuda_driver(const char *library, char *error, size_t error_size) {
    pthread_mutex_lock(&opening);
    const struct cuda_driver *driver = open_driver(library, error, error_size);
    pthread_mutex_unlock(&opening);
    return driver;
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

void cuda_probe(const char *library, struct findings *out) {
    memset(out, 0, sizeof *out);
    const struct cuda_driver *driver = cuda_driver(library, out->reason, sizeof out->reason);
    if (driver) {
        snprintf(out->driver, sizeof out->driver, "%s", library);
        list_devices(driver, out);
    }
}
