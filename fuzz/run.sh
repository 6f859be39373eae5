#!/bin/sh
# run.sh SECONDS [TARGET…]: builds the fuzz targets, all of them unless told which, and runs each for
# that long, from the committed corpus. Stable Rust and a C++ compiler are enough: libFuzzer comes
# with libfuzzer-sys, and the flags below switch on LLVM's coverage pass (cargo-fuzz does the same,
# but asks for nightly). New inputs go to target/corpus, an input that crashes to target/crashes.
set -eu
seconds=${1:?"usage: run.sh SECONDS [TARGET…]"}
shift
targets=${*:-scenario units engine aqm}
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
out=${CARGO_TARGET_DIR:-target}
cov="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
cov="$cov -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
cov="$cov -Cllvm-args=-sanitizer-coverage-trace-compares"
# With --target the flags stay away from build scripts and macros.
# shellcheck disable=SC2046
RUSTFLAGS="--cfg fuzzing $cov -Ccodegen-units=1" \
    cargo build --quiet --release --target "$host" $(printf -- '--bin %s ' $targets)
for target in $targets; do
    mkdir -p "$out/corpus/$target" "$out/crashes"
    case $target in engine | aqm) max=400 ;; units) max=64 ;; *) max=4000 ;; esac
    dict=$([ ! -f "$target.dict" ] || echo "-dict=$target.dict")
    echo "fuzz: $target for $seconds s"
    # shellcheck disable=SC2086
    "$out/$host/release/$target" "$out/corpus/$target" "corpus/$target" -max_total_time="$seconds" -max_len=$max \
        -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$out/crashes/$target-" $dict 2>"$out/$target.log" || {
        tail -40 "$out/$target.log" >&2
        echo "fuzz: $target failed; the input is in fuzz/$out/crashes" >&2
        exit 1
    }
    sed -n 's/^stat::number_of_executed_units: */  executed: /p; s/.*DONE *\(cov: [0-9]*\).*/  \1/p' "$out/$target.log"
done
