#!/usr/bin/env bash
# Checks one property of the built plugin, which its ELF headers show.
#   symbols.sh exports|needs|soname|flags|links|all PATH-OF-LIBRDMAGUARD.SO
# Called by ctest and by scripts/check.sh. Exit status: 0 it holds, 1 it does not (and says why).
set -euo pipefail
export LC_ALL=C

property=$1 plugin=$2
fail() {
  echo "symbols: $plugin: $*" >&2
  exit 1
}

# NCCL probes ncclProfiler_v1 to v7 by name; anything else exported could clash with the job.
exports() {
  local found wanted
  found=$(nm -D --defined-only "$plugin" | awk '{sub(/@.*/, "", $3); print $3}' | sort)
  wanted=$(printf 'ncclProfiler_v%d\n' 1 2 3 4 5 6 7)
  [[ $found == "$wanted" ]] ||
    fail "exports differ from the profiler ABI: $(diff <(echo "$wanted") <(echo "$found") | grep '^[<>]' | head -n 10 | tr '\n' ' ')"
}

# A job's container may have no libstdc++, fmt or spdlog, or others than ours.
needs() {
  local strange
  strange=$(readelf -dW "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vxE 'lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux[-a-z0-9_]*\.so\.[0-9]+' || true)
  [[ -z $strange ]] || fail "needs more than libc's family: $strange"
}

# A bare SONAME is the one form of the name that opens in every NCCL release.
soname() {
  grep -q '(SONAME).*\[librdmaguard\.so\]' <<<"$(readelf -dW "$plugin")" || fail "SONAME is not librdmaguard.so"
}

# NODELETE: NCCL 2.28.3 and later close plugins between communicators, while our thread runs.
# BIND_NOW: no lazy symbol lookup on NCCL's threads.
flags() {
  local dynamic segments
  dynamic=$(readelf -dW "$plugin")
  segments=$(readelf -lW "$plugin")
  grep -q 'NODELETE' <<<"$dynamic" || fail "not linked with -z nodelete"
  grep -qE 'BIND_NOW|Flags:.*NOW' <<<"$dynamic" || fail "not linked with -z now"
  ! grep -q 'TEXTREL' <<<"$dynamic" || fail "has text relocations"
  grep -q 'GNU_RELRO' <<<"$segments" || fail "not linked with -z relro"
  ! grep 'GNU_STACK' <<<"$segments" | grep -q 'RWE' || fail "wants an executable stack"
}

links() {
  local link
  link=$(dirname "$plugin")/libnccl-profiler-rdmaguard.so
  [[ -L $link && $(readlink "$link") == librdmaguard.so ]] || fail "$link does not point to librdmaguard.so"
}

case $property in
  exports | needs | soname | flags | links) "$property" ;;
  all) for check in exports needs soname flags links; do "$check"; done ;;
  *) fail "no such property: $property" ;;
esac
