#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Debian's stock kernel in a small virtual machine, whose root is this machine's own, read-only: for real RDMA verbs without a network card, by
# soft-RoCE (rdma_rxe), and for a disk whose power is cut. Needs no virtualisation by the CPU.
#   run.sh prepare            installs and fetches what is missing; 3 and the reason when that cannot be done here
#   run.sh run SECONDS FILE   boots, runs the shell script FILE in it with devices rxe0 to rxe3 there, and ends like it; 124 when it took longer
#   run.sh disk SECONDS FILE DISK LOG FOLDER
#                             the same with no RDMA but a file system (ext4, in the file DISK) at /run/disk, and FOLDER at /run/out. What is
#                             written to the disk, and when it was flushed, goes to LOG too. The disk's sectors have 4096 bytes.
# The kernel is kept in ${MOONCAKE_CACHE:-~/.cache/mooncake}/rdma-vm; MOONCAKE_SETUP=off never installs packages.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${MOONCAKE_CACHE:-${HOME:-/tmp}/.cache/mooncake}/rdma-vm
readonly packages=(qemu-system-x86 busybox-static cpio kmod iproute2 libibverbs1 ibverbs-providers xz-utils e2fsprogs)
# What each kind of machine loads.
readonly rdma_modules=(virtio_pci overlay 9pnet_virtio 9p crc32_generic veth ib_uverbs rdma_ucm rdma_rxe)
readonly disk_modules=(virtio_pci overlay 9pnet_virtio 9p crc32c_generic virtio_blk ext4)
# Counts up when other modules are kept.
readonly kept=2

cannot() { echo "Virtual machine: $*" >&2; exit 3; }

missing() {
    local package
    for package in "${packages[@]}"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || printf '%s ' "$package"
    done
}

install_packages() {
    local -a wanted
    read -r -a wanted <<< "$(missing)"
    [ ${#wanted[@]} -gt 0 ] || return 0
    [ "${MOONCAKE_SETUP:-}" != off ] || cannot "MOONCAKE_SETUP=off, and these packages are missing: ${wanted[*]}"
    [ "$(id -u)" -eq 0 ] || cannot "only root can install the missing packages: ${wanted[*]}"
    echo "Installing ${wanted[*]}"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${wanted[@]}"; } > "$cache/apt.log" 2>&1 \
        || cannot "packages cannot be installed: $(tail -n 1 "$cache/apt.log")"
}

# The newest kernel that is kept, or nothing.
kept_kernel() { find "$cache" -mindepth 2 -maxdepth 2 -path "*.$kept/vmlinuz" -printf '%h\n' 2> /dev/null | sort -V | tail -n 1; }

# Of the kernel that is being fetched, the modules of one kind of machine, and in KIND.order their order. Uses its caller's variables.
keep_modules() {
    local kind=$1 file
    for file in "${@:2}"; do modprobe -d "$folder/tree" -S "$version" --show-depends "$file"; done \
        | awk '$1 == "insmod" && !seen[$2]++ {print $2}' | while IFS= read -r file; do
            cp "$file" "$folder/kernel/modules/"
            echo "${file##*/}"
        done > "$folder/kernel/modules/$kind.order"
}

# Fetches the kernel and keeps of it what is needed: the image, and the modules in the order in which they are loaded.
fetch_kernel() {
    local package version folder
    [ -z "$(kept_kernel)" ] || return 0
    apt-cache show linux-image-amd64 > /dev/null 2>&1 || { [ "$(id -u)" -eq 0 ] && apt-get update -q > "$cache/apt.log" 2>&1; } || true
    package=$(apt-cache depends linux-image-amd64 2> /dev/null | awk '/Depends:/ {print $2; exit}')
    [ -n "$package" ] || cannot "apt knows no linux-image-amd64"
    version=${package#linux-image-}
    echo "Fetching $package"
    folder=$(mktemp -d "$cache/fetch.XXXXXX")
    (cd "$folder" && apt-get download -q "$package") > "$cache/apt.log" 2>&1 || cannot "$package cannot be fetched: $(tail -n 1 "$cache/apt.log")"
    dpkg -x "$folder"/*.deb "$folder/tree"
    depmod -b "$folder/tree" "$version"
    mkdir -p "$folder/kernel/modules"
    keep_modules rdma "${rdma_modules[@]}"
    keep_modules disk "${disk_modules[@]}"
    cp "$folder/tree/boot/vmlinuz-$version" "$folder/kernel/vmlinuz"
    # Two at once: the first one wins, and both are whole.
    mv -T "$folder/kernel" "$cache/$version.$kept" 2> /dev/null || [ -f "$cache/$version.$kept/vmlinuz" ]
    rm -rf "$folder"
}

# Beside the image, the kernel as it lies in memory, which can be booted as it is: to unpack itself takes it eight seconds in the machine.
# Where there is none inside, the image does.
unpack_kernel() {
    local kernel packed offset
    kernel=$(kept_kernel)
    [ ! -f "$kernel/vmlinux" ] || return 0
    offset=$(LC_ALL=C grep -abom 1 $'\xfd7zXZ' "$kernel/vmlinuz" | cut -d : -f 1) || return 0
    packed=$(mktemp "$cache/vmlinux.XXXXXX")
    if xz -dc --single-stream < <(tail -c "+$((offset + 1))" "$kernel/vmlinuz") > "$packed" 2> /dev/null; then
        mv -T "$packed" "$kernel/vmlinux"
    else
        rm -f "$packed"
    fi
}

prepare() {
    [ "$(uname -sm)" = "Linux x86_64" ] || cannot "$(uname -sm) (expected: Linux x86_64)"
    command -v apt-get > /dev/null || cannot "no apt (expected: Debian 12 or a system like it)"
    mkdir -p "$cache"
    PATH=$PATH:/usr/sbin:/sbin
    install_packages
    fetch_kernel
    unpack_kernel
}

# boot KIND SECONDS FILE QEMU-OPTION...
boot() {
    local kind=$1 seconds=$2 command=$3 kernel image tree log module rc=0
    kernel=$(kept_kernel)
    [ -n "$kernel" ] || cannot "no kernel in $cache (expected: run.sh prepare before)"
    image=$kernel/vmlinux
    [ -f "$image" ] || image=$kernel/vmlinuz
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    tree=$work/tree log=$work/log
    mkdir -p "$tree"/{bin,proc,sys,dev,modules}
    cp /bin/busybox "$tree/bin/"
    cp "$kernel/modules/$kind.order" "$tree/modules/order"
    while IFS= read -r module; do cp "$kernel/modules/$module" "$tree/modules/"; done < "$tree/modules/order"
    install -m 755 "$here/init" "$tree/init"
    cp "$here/guest-$kind.sh" "$tree/guest.sh"
    cp "$command" "$tree/command.sh"
    (cd "$tree" && find . | cpio -o -H newc --quiet) | gzip -1 > "$work/initrd.gz"
    # Two CPUs, one a JVM of tests: emulated ones cost what they run, and more of them only get in each other's way.
    timeout "$seconds" nice -n 19 qemu-system-x86_64 -M q35 -accel tcg,thread=multi,tb-size=1024 -cpu Nehalem -smp 2 -m 2048 -nodefaults \
        -no-user-config -display none -serial stdio -no-reboot -kernel "$image" -initrd "$work/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable clocksource=tsc random.trust_cpu=on" \
        -fsdev local,id=f0,path=/,security_model=none,readonly=on,multidevs=remap \
        -device virtio-9p-pci,fsdev=f0,mount_tag=hostroot "${@:4}" < /dev/null 2>&1 | tee "$log" || rc=$?
    [ "$rc" -eq 0 ] || exit "$rc"
    rc=$(sed -n 's/.*\] TEST-RC=\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    exit "${rc:-1}"
}

disk() {
    : > "$4"
    boot disk "$1" "$2" \
        -blockdev "driver=file,node-name=file,filename=$3" -blockdev "driver=file,node-name=log,filename=$4" \
        -blockdev driver=blklogwrites,node-name=disk,file=file,log=log \
        -device virtio-blk-pci,drive=disk,logical_block_size=4096,physical_block_size=4096,write-cache=on,discard=off,write-zeroes=off \
        -fsdev "local,id=f1,path=$5,security_model=none" -device virtio-9p-pci,fsdev=f1,mount_tag=out
}

case ${1-} in
    prepare) prepare ;;
    run) [ $# -eq 3 ] || cannot "run: $(($# - 1)) arguments (expected: SECONDS FILE)"; boot rdma "$2" "$3" ;;
    disk) [ $# -eq 6 ] || cannot "disk: $(($# - 1)) arguments (expected: SECONDS FILE DISK LOG FOLDER)"; disk "${@:2}" ;;
    *) echo "Usage: run.sh prepare | run SECONDS FILE | disk SECONDS FILE DISK LOG FOLDER" >&2; exit 2 ;;
esac
