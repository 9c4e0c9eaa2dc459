#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the guest: brings up a pair of virtual Ethernet devices with soft-RoCE on one of them, then the command.
set -u
exec 2>&1
ulimit -l unlimited
ip link set lo up
ip link add v0 type veth peer name v1
ip addr add 10.99.0.1/24 dev v0
ip addr add fd99::1/64 dev v0 nodad
ip link set v0 up mtu 4200
ip link set v1 up mtu 4200
rdma link add rxe0 type rxe netdev v0 || { echo "soft-RoCE cannot be set up"; exit 1; }
# The table of global identifiers is filled in the background.
for _ in $(seq 50); do
    grep -q 'ffff:0a63:0001' /sys/class/infiniband/rxe0/ports/1/gids/1 2> /dev/null && break
    sleep 0.1
done
cd /run && exec bash /run/command.sh
