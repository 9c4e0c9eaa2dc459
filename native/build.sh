#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the native bridge into <out>/<classifier>/, called by Maven.
#   build.sh <source folder> <build folder> <out folder> <classifier> <java home>
# A machine without cmake, a C compiler or the JDK's headers still builds: the reason goes to
# <out>/<classifier>/unavailable.txt and `./mooncake doctor` shows it. A compile error is an error.
set -euo pipefail

[ $# -eq 5 ] || { echo "build.sh: $# arguments (expected: 5)" >&2; exit 2; }
source_dir=$1 build_dir=$2 out_dir=$3/$4 java_home=$5

unavailable() {
    rm -f "$out_dir"/libmooncake.*
    printf '%s\n' "$1" > "$out_dir/unavailable.txt"
    echo "native bridge left out: $1" >&2
    exit 0
}

mkdir -p "$out_dir" "$build_dir"
command -v cmake > /dev/null || unavailable "cmake was not installed when this jar was built"
compiler=
for candidate in "${CC:-cc}" gcc clang; do
    if command -v "$candidate" > /dev/null; then compiler=$candidate; break; fi
done
[ -n "$compiler" ] || unavailable "no C compiler was installed when this jar was built"
command -v make > /dev/null || command -v ninja > /dev/null \
    || unavailable "neither make nor ninja was installed when this jar was built"
[ -f "$java_home/include/jni.h" ] || unavailable "the Java that built this jar has no include/jni.h (a JRE, not a JDK)"
# A compiler without the C library's headers (gcc without libc6-dev) counts as none.
printf '#include <stdio.h>\nint main(void) { return 0; }\n' > "$build_dir/probe.c"
"$compiler" -o "$build_dir/probe" "$build_dir/probe.c" > "$build_dir/probe.log" 2>&1 \
    || unavailable "$compiler cannot build a C program: $(head -n 1 "$build_dir/probe.log")"

log=$build_dir/build.log
if ! { cmake -S "$source_dir" -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$compiler" \
        -DMOONCAKE_JAVA_HOME="$java_home" -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$out_dir" \
        && cmake --build "$build_dir"; } > "$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
rm -f "$out_dir/unavailable.txt"
