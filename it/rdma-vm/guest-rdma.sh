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
# A soft-RoCE device over one end of a pair, which reaches itself and nothing else. By few processes: each takes long to start here.
links='' ends='' devices=''
pair() {
    links+="link add ${2}0 type veth peer name ${2}1
addr add 10.$3.0.1/24 dev ${2}0
addr add fd$3::1/64 dev ${2}0 nodad
link set ${2}0 up mtu 4200
link set ${2}1 up mtu 4200 netns peers
"
    ends+="link set ${2}1 up
"
    devices+="link add $1 type rxe netdev ${2}0
"
}
pair rxe0 v 99
pair rxe1 w 98
pair rxe2 x 97
pair rxe3 y 96
ip -batch - <<< "$links" && ip -n peers -batch - <<< "$ends" && echo "$devices" > /run/rdma && rdma -b /run/rdma || { echo "soft-RoCE cannot be set up"; exit 1; }
# The tables of global identifiers are filled in the background.
for _ in $(seq 50); do
    [ "$(grep -ls 'ffff:0a6[0-3]:0001' /sys/class/infiniband/rxe?/ports/1/gids/1 | wc -l)" -eq 4 ] && break
    sleep 0.1
done
cd /run && exec bash /run/command.sh
