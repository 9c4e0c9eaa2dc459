// SPDX-License-Identifier: Apache-2.0
#include "findings.h"

#include <jni.h>
#include <sys/resource.h>
#include <unistd.h>

/* Raised together with NativeBridge.EXPECTED_VERSION: a library of another version is refused by the Java side. */
#define BRIDGE_VERSION 8

#define JNI_CLASS_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_NativeCalls_##name

/* NewStringUTF wants modified UTF-8; messages of a driver may be anything, so what is not ASCII becomes '?'. */
static jstring to_string(JNIEnv *env, const char *text) {
    char ascii[FINDINGS_MAX_TEXT];
    size_t n = 0;
    for (; text[n] != '\0' && n < sizeof ascii - 1; n++) {
        unsigned char c = (unsigned char)text[n];
        ascii[n] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    ascii[n] = '\0';
    return (*env)->NewStringUTF(env, ascii);
}

/* Stores text at index; zero when the JVM has an exception pending. */
static int store(JNIEnv *env, jobjectArray array, jsize index, const char *text) {
    jstring string = to_string(env, text);
    if (!string) {
        return 0;
    }
    (*env)->SetObjectArrayElement(env, array, index, string);
    (*env)->DeleteLocalRef(env, string);
    return !(*env)->ExceptionCheck(env);
}

/* {reason, driver, device...} or null with an exception pending. */
static jobjectArray to_array(JNIEnv *env, const struct findings *found) {
    jclass string_class = (*env)->FindClass(env, "java/lang/String");
    if (!string_class) {
        return NULL;
    }
    jobjectArray array = (*env)->NewObjectArray(env, (jsize)(2 + found->device_count), string_class, NULL);
    if (!array || !store(env, array, 0, found->reason) || !store(env, array, 1, found->driver)) {
        return NULL;
    }
    for (size_t i = 0; i < found->device_count; i++) {
        if (!store(env, array, (jsize)(2 + i), found->devices[i])) {
            return NULL;
        }
    }
    return array;
}

static jlong limit_bytes(rlim_t limit) {
    return limit == RLIM_INFINITY ? -1 : (jlong)limit;
}

JNI_CLASS_CALL(jint, version)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    return BRIDGE_VERSION;
}

JNI_CLASS_CALL(jobjectArray, rdmaDevices)(JNIEnv *env, jclass type) {
    (void)type;
    struct findings found;
    rdma_probe(&found);
    return to_array(env, &found);
}

JNI_CLASS_CALL(jobjectArray, cudaDevices)(JNIEnv *env, jclass type, jstring library) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, library, NULL);
    if (!name) {
        return NULL;
    }
    struct findings found;
    cuda_probe(name, &found);
    (*env)->ReleaseStringUTFChars(env, library, name);
    return to_array(env, &found);
}

JNI_CLASS_CALL(jlong, pageSizeBytes)(JNIEnv *env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)sysconf(_SC_PAGESIZE);
}

/* -1: unlimited; -2: the kernel did not say. */
JNI_CLASS_CALL(jlong, memlockBytes)(JNIEnv *env, jclass type, jboolean hard) {
    (void)env;
    (void)type;
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
        return -2;
    }
    return limit_bytes(hard ? limit.rlim_max : limit.rlim_cur);
}
