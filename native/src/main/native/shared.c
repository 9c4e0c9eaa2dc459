// SPDX-License-Identifier: Apache-2.0
/*
 * Files of memory that several processes map. Whoever creates one holds an exclusive flock on it until it closes or dies: the kernel
 * drops the lock with the process, so the lock says whether the owner lives, across pid namespaces too. A file is never truncated, so
 * nobody who maps it gets SIGBUS; its pages are allocated before it is mapped, for the same reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <jni.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JNI_CLASS_CALL(type, name) JNIEXPORT type JNICALL Java_io_mooncake_natives_NativeCalls_##name
/* Absent from the headers of Debian 12's C library's older kernels; the kernel refuses what it does not know. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* {first, ...} of count values, or null with an exception pending. */
static jlongArray longs(JNIEnv *env, const jlong *values, jsize count) {
    jlongArray array = (*env)->NewLongArray(env, count);
    if (array) {
        (*env)->SetLongArrayRegion(env, array, 0, count, values);
    }
    return array;
}

static jlongArray failed(JNIEnv *env, int error) {
    jlong negative = -(jlong)error;
    return longs(env, &negative, 1);
}

/* A new locked file of exactly bytes; its descriptor, or -1 with errno. The caller unlinks it after a later failure. */
static int create_locked(const char *path, off_t bytes) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -1;
    }
    int error = 0;
    struct stat found;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &found) != 0) {
        error = errno;
    } else if (found.st_nlink == 0) {
        /* Somebody who cleans up saw it before it was locked. */
        error = EAGAIN;
    } else {
        error = posix_fallocate(fd, 0, bytes);
    }
    if (error != 0) {
        unlink(path);
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* {address, descriptor, device, inode} or {-errno}. */
JNI_CLASS_CALL(jlongArray, sharedCreate)(JNIEnv *env, jclass type, jstring name, jlong bytes) {
    (void)type;
    const char *path = (*env)->GetStringUTFChars(env, name, NULL);
    if (!path) {
        return NULL;
    }
    int fd = create_locked(path, (off_t)bytes);
    int error = fd < 0 ? errno : 0;
    struct stat found;
    void *address = MAP_FAILED;
    if (fd >= 0) {
        address = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (address == MAP_FAILED || fstat(fd, &found) != 0) {
            error = errno;
            if (address != MAP_FAILED) {
                munmap(address, (size_t)bytes);
            }
            unlink(path);
            close(fd);
        }
    }
    (*env)->ReleaseStringUTFChars(env, name, path);
    if (error != 0) {
        return failed(env, error);
    }
    /* Advice only: where the kernel has no huge pages for shared memory it says no. */
    madvise(address, (size_t)bytes, MADV_HUGEPAGE);
    jlong values[] = {(jlong)(intptr_t)address, fd, (jlong)found.st_dev, (jlong)found.st_ino};
    return longs(env, values, 4);
}

/* Maps an existing file for reading: {address, descriptor, bytes} or {-errno}; ESTALE when it is another file. */
JNI_CLASS_CALL(jlongArray, sharedOpen)(JNIEnv *env, jclass type, jstring name, jlong device, jlong inode) {
    (void)type;
    const char *path = (*env)->GetStringUTFChars(env, name, NULL);
    if (!path) {
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int error = fd < 0 ? errno : 0;
    (*env)->ReleaseStringUTFChars(env, name, path);
    if (fd < 0) {
        return failed(env, error);
    }
    struct stat found;
    void *address = MAP_FAILED;
    if (fstat(fd, &found) != 0) {
        error = errno;
    } else if (!S_ISREG(found.st_mode) || found.st_size < 1 || (jlong)found.st_dev != device
               || (jlong)found.st_ino != inode) {
        error = ESTALE;
    } else {
        address = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, fd, 0);
        error = address == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        close(fd);
        return failed(env, error);
    }
    madvise(address, (size_t)found.st_size, MADV_HUGEPAGE);
    jlong values[] = {(jlong)(intptr_t)address, fd, (jlong)found.st_size};
    return longs(env, values, 3);
}

/* Whether somebody holds the exclusive lock: 1, 0, or -errno. */
JNI_CLASS_CALL(jint, sharedHeld)(JNIEnv *env, jclass type, jint fd) {
    (void)env;
    (void)type;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return 0;
    }
    return errno == EWOULDBLOCK ? 1 : -errno;
}

/* Fills the page table, so that no copy meets a page fault; 0 or -errno. */
JNI_CLASS_CALL(jint, sharedPopulate)(JNIEnv *env, jclass type, jlong address, jlong bytes, jboolean write) {
    (void)env;
    (void)type;
    int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    return madvise((void *)(intptr_t)address, (size_t)bytes, advice) == 0 ? 0 : -errno;
}

/* The C library picks the instructions that suit the processor; it copies faster than the JVM's own loop does. */
JNI_CLASS_CALL(void, copy)(JNIEnv *env, jclass type, jlong from, jlong to, jlong bytes) {
    (void)env;
    (void)type;
    memcpy((void *)(intptr_t)to, (const void *)(intptr_t)from, (size_t)bytes);
}

/* Ends a mapping and its descriptor, and with it the lock. */
JNI_CLASS_CALL(void, sharedClose)(JNIEnv *env, jclass type, jlong address, jlong bytes, jint fd) {
    (void)env;
    (void)type;
    munmap((void *)(intptr_t)address, (size_t)bytes);
    close(fd);
}

/* Removes a file whose owner is dead: 1 removed, 0 somebody holds it, or -errno. */
JNI_CLASS_CALL(jint, sharedRemoveOrphan)(JNIEnv *env, jclass type, jstring name) {
    (void)type;
    const char *path = (*env)->GetStringUTFChars(env, name, NULL);
    if (!path) {
        return -ENOMEM;
    }
    jint result = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        result = -errno;
    } else if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        result = unlink(path) == 0 ? 1 : -errno;
    } else if (errno != EWOULDBLOCK) {
        result = -errno;
    }
    if (fd >= 0) {
        close(fd);
    }
    (*env)->ReleaseStringUTFChars(env, name, path);
    return result;
}

/* Sleeps while the word at address holds seen, at most nanos; the mapping may be read-only. 0 woken, or -errno. */
JNI_CLASS_CALL(jint, sharedWait)(JNIEnv *env, jclass type, jlong address, jint seen, jlong nanos) {
    (void)env;
    (void)type;
    struct timespec left = {(time_t)(nanos / 1000000000), (long)(nanos % 1000000000)};
    /* Not FUTEX_PRIVATE: the word lies in a file, and whoever wakes us is another process. */
    return syscall(SYS_futex, (void *)(intptr_t)address, FUTEX_WAIT, seen, &left, NULL, 0) == 0 ? 0 : -errno;
}

/* Wakes everybody who sleeps on the word at address; how many, or -errno. */
JNI_CLASS_CALL(jint, sharedWake)(JNIEnv *env, jclass type, jlong address) {
    (void)env;
    (void)type;
    long woken = syscall(SYS_futex, (void *)(intptr_t)address, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return woken < 0 ? -errno : (jint)woken;
}

/* Allocates the blocks of a file that is there, and makes it as long; 0 or errno. */
JNI_CLASS_CALL(jint, fileAllocate)(JNIEnv *env, jclass type, jstring name, jlong bytes) {
    (void)type;
    const char *path = (*env)->GetStringUTFChars(env, name, NULL);
    if (!path) {
        return ENOMEM;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
    if (fd >= 0) {
        close(fd);
    }
    (*env)->ReleaseStringUTFChars(env, name, path);
    return error;
}
