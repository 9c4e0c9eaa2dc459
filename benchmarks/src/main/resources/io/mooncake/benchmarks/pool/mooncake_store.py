# SPDX-License-Identifier: Apache-2.0
#
# Mooncake's store behind the commands of the pool benchmark.
#
#   mooncake_store.py owner PORT MASTER             mounts a segment of 1 GiB; prints READY, ends with its input
#   mooncake_store.py client PORT MASTER local|remote
#                                                   reads "measure OPERATION SIZE BATCH MILLIS", answers "result CALLS NANOS MEDIAN P99"
#
# Buffers are registered, and values go from and to them without a copy in Python. Keys are new in each pass, as a cache's are.
import ctypes
import mmap
import sys
import time

from mooncake.store import MooncakeDistributedStore

BUFFER = 256 << 20
SEGMENT = 1 << 30
PASS_BYTES = 64 << 20
PASS_CALLS = 256


def start(role, port, master, segment):
    store = MooncakeDistributedStore()
    if store.setup("127.0.0.1:" + port, "P2PHANDSHAKE", segment, 64 << 20, "tcp", "", master) != 0:
        sys.exit("mooncake_store: setup of the " + role + " failed")
    return store


class Client:
    def __init__(self, store):
        self.store = store
        self.memory = mmap.mmap(-1, BUFFER, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        ctypes.memset(self.address, 1, BUFFER)
        if store.register_buffer(self.address, BUFFER) != 0:
            sys.exit("mooncake_store: register_buffer failed")
        self.passes = 0

    def fresh(self, count):
        self.passes += 1
        return ["p%d_%d" % (self.passes, i) for i in range(count)]

    def clear(self, count):
        # What was looked up is leased for a while, and asking whether it is gone would lease it again.
        for _ in range(40):
            count -= self.store.remove_all()
            if count <= 0:
                return
            time.sleep(0.25)
        sys.exit("mooncake_store: remove_all leaves %d values" % count)

    def put(self, keys, size, batch):
        addresses = [self.address + i * size for i in range(len(keys))]
        if batch == 1:
            return self.store.put_from(keys[0], addresses[0], size)
        return max(abs(code) for code in self.store.batch_put_from(keys, addresses, [size] * batch))

    def get(self, keys, size, batch):
        addresses = [self.address + i * size for i in range(len(keys))]
        if batch == 1:
            return 0 if self.store.get_into(keys[0], addresses[0], size) == size else 1
        return 0 if min(self.store.batch_get_into(keys, addresses, [size] * batch)) == size else 1

    def exists(self, keys, size, batch):
        if batch == 1:
            return 0 if self.store.is_exist(keys[0]) == 1 else 1
        return 0 if min(self.store.batch_is_exist(keys)) == 1 else 1

    def measure(self, operation, size, batch, millis):
        samples = []
        total = 0
        call = {"put": self.put, "get": self.get, "exists": self.exists}[operation]
        while total < millis * 1_000_000:
            calls = max(1, min(PASS_CALLS, PASS_BYTES // size) // batch)
            keys = self.fresh(calls * batch)
            groups = [keys[i * batch : (i + 1) * batch] for i in range(calls)]
            if operation != "put":
                for group in groups:
                    if self.put(group, size, batch) != 0:
                        sys.exit("mooncake_store: put failed")
            for group in groups:
                begin = time.perf_counter_ns()
                code = call(group, size, batch)
                took = time.perf_counter_ns() - begin
                if code != 0:
                    sys.exit("mooncake_store: %s failed with %d" % (operation, code))
                samples.append(took)
                total += took
            self.clear(len(keys))
        samples.sort()
        print("result", len(samples), total, samples[len(samples) // 2], samples[len(samples) * 99 // 100], flush=True)


def main():
    role, port, master = sys.argv[1:4]
    if role == "owner":
        store = start(role, port, master, SEGMENT)
        print("READY", flush=True)
        sys.stdin.read()
        store.close()
        return
    store = start(role, port, master, SEGMENT if sys.argv[4] == "local" else 0)
    client = Client(store)
    print("READY", flush=True)
    for line in sys.stdin:
        _, operation, size, batch, millis = line.split()
        client.measure(operation, int(size), int(batch), int(millis))


main()
