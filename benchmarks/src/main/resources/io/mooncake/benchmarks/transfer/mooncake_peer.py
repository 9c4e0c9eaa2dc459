# SPDX-License-Identifier: Apache-2.0
#
# Mooncake's own engine behind the commands of the transfer benchmark.
#
#   mooncake_peer.py owner BYTES                    registers memory; prints READY PORT ADDRESS, ends with its input
#   mooncake_peer.py client PORT ADDRESS BYTES      reads commands and answers as ceiling.c does
#
# One call of the engine is one call of its Python API; each costs the interpreter about a microsecond.
import ctypes
import mmap
import sys
import time

from mooncake.engine import TransferEngine

HOST = "127.0.0.1"
MAX_SAMPLES = 1 << 20


def start(size):
    """An engine and the address of `size` bytes of private, touched, registered memory."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.memset(address, 1, size)
    engine = TransferEngine()
    if engine.initialize(HOST, "P2PHANDSHAKE", "tcp", "") != 0:
        sys.exit("mooncake_peer: initialize failed")
    if engine.register_memory(address, size) != 0:
        sys.exit("mooncake_peer: register_memory failed")
    return engine, address, memory


def measure(call, millis):
    samples = []
    clock = time.perf_counter_ns
    begin = last = clock()
    end = begin + millis * 1_000_000
    calls = 0
    while last < end:
        if call(calls) != 0:
            sys.exit("mooncake_peer: a transfer failed")
        at = clock()
        if calls < MAX_SAMPLES:
            samples.append(at - last)
        last = at
        calls += 1
    samples.sort()
    print("result", calls, last - begin, samples[len(samples) // 2], samples[len(samples) * 99 // 100], flush=True)


def single(transfer, peer, local, remote, size, spots, stride):
    offsets = [i * stride for i in range(spots)]

    def call(turn):
        offset = offsets[turn % spots]
        return transfer(peer, local + offset, remote + offset, size)

    return call


def batches(transfer, peer, local, remote, size, batch, spots, stride):
    sizes = [size] * batch
    groups = []
    for first in range(0, spots, batch):
        offsets = [(first + i) % spots * stride for i in range(batch)]
        groups.append(([local + offset for offset in offsets], [remote + offset for offset in offsets]))

    def call(turn):
        ours, theirs = groups[turn % len(groups)]
        return transfer(peer, ours, theirs, sizes)

    return call


def client(port, remote, size):
    engine, local, memory = start(size)
    peer = "%s:%d" % (HOST, port)
    print("READY", flush=True)
    for line in sys.stdin:
        word, operation, *numbers = line.split()
        if word != "measure" or operation not in ("read", "write"):
            sys.exit("mooncake_peer: not understood: " + line)
        length, batch, spots, stride, millis = map(int, numbers)
        if batch == 1:
            transfer = engine.transfer_sync_read if operation == "read" else engine.transfer_sync_write
            call = single(transfer, peer, local, remote, length, spots, stride)
        else:
            transfer = engine.batch_transfer_sync_read if operation == "read" else engine.batch_transfer_sync_write
            call = batches(transfer, peer, local, remote, length, batch, spots, stride)
        measure(call, millis)


def main():
    if sys.argv[1] == "owner":
        engine, address, memory = start(int(sys.argv[2]))
        print("READY", engine.get_rpc_port(), address, flush=True)
        sys.stdin.read()
    else:
        client(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))


main()
