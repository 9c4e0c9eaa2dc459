#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the guest: mounts the disk and the folder to write to, then the command. Nothing is committed on the disk unless somebody syncs; what
# is written to the folder is with the host when the write returns.
set -u
exec 2>&1
mkdir -p /run/disk /run/out
mount -t ext4 -o commit=300 /dev/vda /run/disk || { echo "the disk cannot be mounted"; exit 1; }
mount -t 9p -o trans=virtio,version=9p2000.L,msize=65536,cache=none out /run/out || { echo "the folder cannot be mounted"; exit 1; }
[ "$(cat /sys/block/vda/queue/write_cache)" = "write back" ] || { echo "the disk has no cache to flush"; exit 1; }
cd /run && exec bash /run/command.sh
