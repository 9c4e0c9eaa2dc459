#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each decoder under a coverage-guided fuzzer (Jazzer) and adds the inputs that reach new code to the corpus that the tests replay.
# Usage: it/fuzz/run.sh [SECONDS] [CLASS...]   (60 s for each class, all classes); fails with the input when a decoder misbehaves.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
work=$root/target/fuzz
readonly version=0.24.0
mkdir -p "$work"
cd "$root"
# shellcheck disable=SC2086 # a list of arguments, split on purpose
run_maven() { mvn -B -q ${MOONCAKE_MAVEN_ARGS:-} "$@"; }
for artifact in jazzer jazzer-api; do
    run_maven dependency:copy -Dartifact="com.code-intelligence:$artifact:$version" -DoutputDirectory="$work" -Dmdep.stripVersion=true
done
run_maven -pl transfer-spi,ignite-plugin -am -DskipTests package dependency:build-classpath \
    -Dmdep.outputFile=target/fuzz.classpath -Dmdep.includeScope=test -Dmdep.regenerateFile=true
failed=0
for module in transfer-spi ignite-plugin; do
    while IFS= read -r file; do
        path=$work/jazzer.jar:$work/jazzer-api.jar:$root/$module/target/classes:$root/$module/target/test-classes:$(cat "$root/$module/target/fuzz.classpath")
        class=${file#"$module"/src/test/java/}
        class=${class%.java}
        name=$(basename "$class")
        if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
        corpus=$root/$module/src/test/fuzz/$name
        found=$work/$name
        rm -rf "$found"
        mkdir -p "$corpus" "$found"
        echo "$name: $seconds s, $(find "$corpus" -type f | wc -l) kept inputs"
        if (cd "$work" && java "@$root/jvm.args" -Xmx1g -cp "$path" \
            com.code_intelligence.jazzer.Jazzer --target_class="${class//\//.}" --instrumentation_includes='io.mooncake.**' --custom_hook_includes='io.mooncake.**' \
            --reproducer_path="$work" -artifact_prefix="$work/$name-" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len=8192 \
            -print_final_stats=1 "$found" "$corpus") > "$work/$name.log" 2>&1; then
            # What reaches new code, smallest first, joins the corpus.
            (cd "$work" && java "@$root/jvm.args" -cp "$path" \
                com.code_intelligence.jazzer.Jazzer --target_class="${class//\//.}" --instrumentation_includes='io.mooncake.**' --custom_hook_includes='io.mooncake.**' -merge=1 "$corpus" "$found") \
                > "$work/$name.merge.log" 2>&1 || true
            echo "$name: $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$work/$name.log" | grep -o '[0-9]*$') runs, $(find "$corpus" -type f | wc -l) inputs kept now"
        else
            failed=1
            echo "$name: FAILED, see $work/$name.log" >&2
            grep -m 3 -E '== Java Exception|Exception|Error|Test unit written' "$work/$name.log" >&2 || true
        fi
    done < <(find "$module/src/test/java" -name '*FuzzTest.java' | sort)
done
exit $failed
