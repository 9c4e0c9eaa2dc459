#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the guest: brings up four pairs of virtual Ethernet devices, each with soft-RoCE on one of them, then the command.
set -u
exec 2>&1
ulimit -l unlimited
ip link set lo up
# The other ends lie elsewhere: engines look at every interface that they see.
mkdir -p /run/netns && ip netns add peers
# DEVICE INTERFACE NUMBER: a soft-RoCE device over one end of a pair, which reaches itself and nothing else.
device() {
    ip link add "$2" type veth peer name "${2%0}1"
    ip addr add "10.$3.0.1/24" dev "$2"
    ip addr add "fd$3::1/64" dev "$2" nodad
    ip link set "$2" up mtu 4200
    ip link set "${2%0}1" up mtu 4200 netns peers
    ip -n peers link set "${2%0}1" up
    rdma link add "$1" type rxe netdev "$2" || { echo "soft-RoCE cannot be set up"; exit 1; }
}
device rxe0 v0 99
device rxe1 w0 98
device rxe2 x0 97
device rxe3 y0 96
# The tables of global identifiers are filled in the background.
for _ in $(seq 50); do
    [ "$(grep -ls 'ffff:0a6[0-3]:0001' /sys/class/infiniband/rxe?/ports/1/gids/1 | wc -l)" -eq 4 ] && break
    sleep 0.1
done
cd /run && exec bash /run/command.sh
