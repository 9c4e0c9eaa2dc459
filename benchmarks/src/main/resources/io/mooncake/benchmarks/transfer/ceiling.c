// SPDX-License-Identifier: Apache-2.0
//
// What this machine can do without an engine: the ceiling that the transfer benchmark compares with.
//
//   ceiling owner BYTES                       serves its memory over TCP; prints READY PORT, ends with its input
//   ceiling client PORT CONNECTIONS BYTES     reads commands, see below; a thread a connection
//   ceiling copy FILE OFFSET BYTES            the same, copying out of (or into) a file that it maps
//
// Commands are lines: measure OPERATION SIZE BATCH SPOTS STRIDE MILLIS. One call moves BATCH ranges of SIZE bytes; range i lies at
// STRIDE * (i % SPOTS) on both sides. The answer: result CALLS NANOS P50 P99, nanoseconds. Operations over TCP: read and write over all
// connections, read1 and write1 over the first one. Of copies: read (memcpy), crc (memcpy and CRC32C of the copy, in pieces), write.
//
// There is no check, no framing beyond 24 bytes a request, no copy besides the kernel's.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 64, MAX_SAMPLES = 1 << 20, PIECE = 256 << 10 };

struct request {
    uint64_t write;
    uint64_t offset;
    uint64_t size;
};

static char *memory;
static uint64_t memory_bytes;

static void die(const char *what) {
    fprintf(stderr, "ceiling: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Every page is touched, so that no measured byte is the first of its page. Shared pages are huge where the kernel lets them, as the
// engine's are.
static char *touched(uint64_t bytes, int sharing) {
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        die("memory");
    }
    if (sharing == MAP_SHARED) {
        madvise(at, bytes, MADV_HUGEPAGE);
    }
    memset(at, 1, bytes);
    return at;
}

static int receive_all(int socket, void *at, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = recv(socket, (char *) at + done, bytes - done, 0);
        if (n <= 0) {
            return -1;
        }
        done += (uint64_t) n;
    }
    return 0;
}

static int send_all(int socket, const void *at, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = send(socket, (const char *) at + done, bytes - done, MSG_NOSIGNAL);
        if (n <= 0) {
            return -1;
        }
        done += (uint64_t) n;
    }
    return 0;
}

// Header and payload in one call, so that a small write is one segment.
static int send_both(int socket, const struct request *head, const char *at, uint64_t bytes) {
    struct iovec parts[2] = {{(void *) head, sizeof *head}, {(void *) at, bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (n < (ssize_t) sizeof *head) {
        return -1;
    }
    uint64_t sent = (uint64_t) n - sizeof *head;
    return send_all(socket, at + sent, bytes - sent);
}

static void *serve(void *argument) {
    int socket = (int) (intptr_t) argument;
    struct request head;
    while (receive_all(socket, &head, sizeof head) == 0) {
        if (head.offset > memory_bytes || head.size > memory_bytes - head.offset) {
            break;
        }
        if (head.write) {
            if (receive_all(socket, memory + head.offset, head.size) != 0 || send_all(socket, &head, 8) != 0) {
                break;
            }
        } else if (send_all(socket, memory + head.offset, head.size) != 0) {
            break;
        }
    }
    close(socket);
    return NULL;
}

static void *accept_all(void *argument) {
    int listener = (int) (intptr_t) argument;
    for (;;) {
        int socket = accept(listener, NULL, NULL);
        if (socket < 0) {
            return NULL;
        }
        int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *) (intptr_t) socket) != 0) {
            die("thread");
        }
        pthread_detach(thread);
    }
}

static int own(void) {
    memory = touched(memory_bytes, MAP_PRIVATE);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *) &address, length) != 0 || listen(listener, 64) != 0
        || getsockname(listener, (struct sockaddr *) &address, &length) != 0) {
        die("listen");
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, accept_all, (void *) (intptr_t) listener) != 0) {
        die("thread");
    }
    printf("READY %d\n", ntohs(address.sin_port));
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    return 0;
}

struct call {
    int write;
    uint64_t size;
    uint64_t batch;
    uint64_t spots;
    uint64_t stride;
    uint64_t first;
    int connections;
};

static int sockets[MAX_CONNECTIONS];
static struct call call;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static uint64_t turn;
static int running;

// Range i of the call, or for a call of one range the part of this connection.
static struct request range(const struct call *c, uint64_t i, int connection) {
    uint64_t offset = (c->first + i) % c->spots * c->stride;
    if (c->batch > 1 || c->connections == 1) {
        return (struct request) {(uint64_t) c->write, offset, c->size};
    }
    uint64_t from = c->size * (uint64_t) connection / (uint64_t) c->connections;
    uint64_t to = c->size * (uint64_t) (connection + 1) / (uint64_t) c->connections;
    return (struct request) {(uint64_t) c->write, offset + from, to - from};
}

// The share of one connection: all requests go out before the first answer is taken.
static void share(const struct call *c, int connection) {
    int socket = sockets[connection];
    uint64_t from = c->batch > 1 ? c->batch * (uint64_t) connection / (uint64_t) c->connections : 0;
    uint64_t to = c->batch > 1 ? c->batch * (uint64_t) (connection + 1) / (uint64_t) c->connections : 1;
    for (uint64_t i = from; i < to; i++) {
        struct request head = range(c, i, connection);
        int failed = c->write ? send_both(socket, &head, memory + head.offset, head.size)
                              : send_all(socket, &head, sizeof head);
        if (failed) {
            die("send");
        }
    }
    for (uint64_t i = from; i < to; i++) {
        struct request head = range(c, i, connection);
        uint64_t answer;
        int failed = c->write ? receive_all(socket, &answer, sizeof answer)
                              : receive_all(socket, memory + head.offset, head.size);
        if (failed) {
            die("receive");
        }
    }
}

static void *work(void *argument) {
    int connection = (int) (intptr_t) argument;
    uint64_t seen = 0;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (turn == seen) {
            pthread_cond_wait(&begun, &lock);
        }
        seen = turn;
        struct call mine = call;
        pthread_mutex_unlock(&lock);
        if (connection < mine.connections) {
            share(&mine, connection);
        }
        pthread_mutex_lock(&lock);
        if (--running == 0) {
            pthread_cond_signal(&ended);
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static int all_connections;

static void transfer(const struct call *c) {
    if (c->connections > 1) {
        pthread_mutex_lock(&lock);
        call = *c;
        turn++;
        running = all_connections - 1;
        pthread_cond_broadcast(&begun);
        pthread_mutex_unlock(&lock);
    }
    share(c, 0);
    if (c->connections > 1) {
        pthread_mutex_lock(&lock);
        while (running > 0) {
            pthread_cond_wait(&ended, &lock);
        }
        pthread_mutex_unlock(&lock);
    }
}

// CRC-32C with one dependent chain is far slower than memory: three chains, joined like digits of a larger base, hide the latency.
// The value is not compared with anything, so the chains are simply folded; the work is the same.
#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint64_t crc32c(const char *at, uint64_t bytes) {
    uint64_t a = ~0U, b = 0, c = 0, third = bytes / 24 * 8;
    for (uint64_t i = 0; i < third; i += 8) {
        a = __builtin_ia32_crc32di(a, *(const uint64_t *) (at + i));
        b = __builtin_ia32_crc32di(b, *(const uint64_t *) (at + third + i));
        c = __builtin_ia32_crc32di(c, *(const uint64_t *) (at + 2 * third + i));
    }
    for (uint64_t i = 3 * third; i < bytes; i++) {
        a = __builtin_ia32_crc32qi((uint32_t) a, at[i]);
    }
    return a ^ b ^ c;
}
#else
static uint64_t crc32c(const char *at, uint64_t bytes) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
        sum = sum * 31 + *(const uint64_t *) (at + i);
    }
    return sum;
}
#endif

static char *mapped;
static volatile uint64_t sink;

static void copy(const struct call *c, int sums) {
    for (uint64_t i = 0; i < c->batch; i++) {
        uint64_t offset = (c->first + i) % c->spots * c->stride;
        if (c->write) {
            memcpy(mapped + offset, memory + offset, c->size);
        } else if (!sums) {
            memcpy(memory + offset, mapped + offset, c->size);
        } else {
            for (uint64_t at = 0; at < c->size; at += PIECE) {
                uint64_t n = c->size - at < PIECE ? c->size - at : PIECE;
                memcpy(memory + offset + at, mapped + offset + at, n);
                sink ^= crc32c(memory + offset + at, n);
            }
        }
    }
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return (x > y) - (x < y);
}

static void measure(const char *operation, struct call c, int64_t millis) {
    static int64_t samples[MAX_SAMPLES];
    int copies = mapped != NULL, sums = strcmp(operation, "crc") == 0;
    c.write = strncmp(operation, "write", 5) == 0;
    int64_t start = now(), end = start + millis * 1000000, last = start;
    uint64_t calls = 0;
    do {
        c.first = calls * c.batch;
        if (copies) {
            copy(&c, sums);
        } else {
            transfer(&c);
        }
        int64_t at = now();
        samples[calls % MAX_SAMPLES] = at - last;
        last = at;
        calls++;
    } while (last < end);
    uint64_t kept = calls < MAX_SAMPLES ? calls : MAX_SAMPLES;
    qsort(samples, kept, sizeof *samples, by_size);
    printf("result %llu %lld %lld %lld\n", (unsigned long long) calls, (long long) (last - start),
           (long long) samples[kept / 2], (long long) samples[kept * 99 / 100]);
    fflush(stdout);
}

static int take_commands(void) {
    char line[256], operation[16];
    struct call c = {0};
    long long millis;
    printf("READY\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        unsigned long long size, batch, spots, stride;
        if (sscanf(line, "measure %15s %llu %llu %llu %llu %lld", operation, &size, &batch, &spots, &stride, &millis) != 6
            || size < 1 || batch < 1 || spots < 1 || spots * stride > memory_bytes || size > stride) {
            fprintf(stderr, "ceiling: not understood: %s", line);
            return 2;
        }
        c.size = size;
        c.batch = batch;
        c.spots = spots;
        c.stride = stride;
        c.connections = operation[strlen(operation) - 1] == '1' ? 1 : all_connections;
        if (c.batch == 1 && c.size < (uint64_t) c.connections) {
            c.connections = 1;
        }
        measure(operation, c, millis);
    }
    return 0;
}

static int ask(int port) {
    memory = touched(memory_bytes, MAP_PRIVATE);
    for (int i = 0; i < all_connections; i++) {
        struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons((uint16_t) port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int on = 1;
        sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (sockets[i] < 0 || connect(sockets[i], (struct sockaddr *) &address, sizeof address) != 0) {
            die("connect");
        }
        setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        if (i > 0 && pthread_create(&thread, NULL, work, (void *) (intptr_t) i) != 0) {
            die("thread");
        }
    }
    return take_commands();
}

static int map(const char *file, uint64_t offset) {
    int descriptor = open(file, O_RDWR);
    if (descriptor < 0) {
        die(file);
    }
    mapped = mmap(NULL, offset + memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
        die("map");
    }
    madvise(mapped, offset + memory_bytes, MADV_HUGEPAGE);
    mapped += offset;
    memory = touched(memory_bytes, MAP_SHARED);
    // The bytes of the file must stay what they are: others compare them with checksums.
    memcpy(memory, mapped, memory_bytes);
    all_connections = 1;
    return take_commands();
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "owner") == 0) {
        memory_bytes = strtoull(arguments[2], NULL, 10);
        return own();
    }
    if (count == 5 && strcmp(arguments[1], "client") == 0) {
        all_connections = atoi(arguments[3]);
        memory_bytes = strtoull(arguments[4], NULL, 10);
        return all_connections < 1 || all_connections > MAX_CONNECTIONS ? 2 : ask(atoi(arguments[2]));
    }
    if (count == 5 && strcmp(arguments[1], "copy") == 0) {
        memory_bytes = strtoull(arguments[4], NULL, 10);
        return map(arguments[2], strtoull(arguments[3], NULL, 10));
    }
    fprintf(stderr, "usage: ceiling owner BYTES | client PORT CONNECTIONS BYTES | copy FILE OFFSET BYTES\n");
    return 2;
}
