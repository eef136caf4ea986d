#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs them one after another.
# usage: tests/fuzz/run.sh SECONDS [TARGET...]   TARGET: log spec spec_json batch ports environment
#                                                perf perf_json events input compressed; default all
# BUILD (default build/fuzz) keeps the programs, the corpora, which grow from run to run, and what
# made a target fail (failures/). Prints a line of counts a target; exit status 1 if one failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build/fuzz}
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
targets=("$@")
if ((${#targets[@]} == 0)); then
  for source in "$here"/*_fuzz.cc; do
    source=${source##*/}
    targets+=("${source%_fuzz.cc}")
  done
fi

mkdir -p "$build/failures" "$build/logs"
launcher=()
! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$root" -B "$build" -G Ninja "${launcher[@]}" -DRDMAGUARD_FUZZ=ON -DRDMAGUARD_BENCH=OFF \
  -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O1 -g1" \
  -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 >"$build/logs/configure.log" 2>&1 || {
  cat "$build/logs/configure.log" >&2
  exit 2
}
cmake --build "$build" --target "${targets[@]/%/_fuzz}" >"$build/logs/build.log" 2>&1 || {
  tail -n 40 "$build/logs/build.log" >&2
  exit 2
}
"$here/seeds.sh" "$build/seeds"

status=0
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  options=()
  dictionary=$here/$target.dict
  [[ ! -e $dictionary ]] || options+=("-dict=$dictionary")
  log=$build/logs/$target.log
  # A unit of 64 KiB that takes longer than 10 s is a reader that is not linear.
  if "$build/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$build/failures/$target-" \
    "${options[@]}" "$corpus" "$build/seeds/$target" >"$log" 2>&1; then
    result=ok
  else
    result=FAILED status=1
  fi
  # The last line of progress: "#12345 DONE cov: 1 ft: 2 corp: 3/4Kb ..."
  progress=$(grep -aE '^#[0-9]+' "$log" | tail -n 1 || true)
  printf '%-12s %-6s %10s executions  %6s edges  %7s features  %6s inputs kept  peak %s MB\n' \
    "$target" "$result" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
    "$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' <<<"$progress")" \
    "$(sed -n 's/.*ft: \([0-9]*\).*/\1/p' <<<"$progress")" \
    "$(sed -n 's/.*corp: \([0-9]*\).*/\1/p' <<<"$progress")" \
    "$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")"
  [[ $result == ok ]] || tail -n 30 "$log" >&2
done
exit "$status"
