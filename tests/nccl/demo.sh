#!/usr/bin/env bash
# The demonstration: one healthy run and three ways for RDMA to be lost, each warned about, then
# stopped at once. scripts/demo.sh gets the machine ready and ends here; by hand:
#
#   tests/nccl/demo.sh BUILD LIBNCCL     BUILD holds bin/nccl-job and lib/librdmaguard.so
#
# Runs in a guest with software RDMA (tests/verbs/guest.sh). Where none can be had, shows NCCL's
# selection and the guard's verdict on the bare machine. Exit status: 0 all went as shown; 1 not.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

(($# >= 2)) || {
  echo "usage: tests/nccl/demo.sh BUILD LIBNCCL" >&2
  exit 64
}
build=$(realpath -e "$1") libnccl=$(realpath -e "$2") where=${3:-}

# What the reader sees of a command: its meaning first, paths left out.
job=$build/bin/nccl-job
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} RDMAGUARD_LIBNCCL=$libnccl
export NCCL_PROFILER_PLUGIN=rdmaguard

bold='' plain=''
# The guest has no terminal: whoever starts it says whether there is one.
[[ -z ${RDMAGUARD_DEMO_COLOUR:-} ]] || bold=$'\e[1m' plain=$'\e[0m'
title() { printf '\n%s=== %s%s\n' "$bold" "$*" "$plain"; }
command_line() { printf '\n%s    $ %s%s\n' "$bold" "$*" "$plain"; }
indented() { sed -u -e '/^nccl-job: host memory/d' -e 's/^/    /'; }

failures=0 summary=''
row() { summary+=$(printf '  %-30s %-22s %s' "$1" "$2" "$3")$'\n'; }
expect() { # WHAT WANTED GOT
  [[ $2 == "$3" ]] && return
  echo "    demo: $1 should be $2 and is $3" >&2
  failures=$((failures + 1))
}

# run NAME=VALUE... -- OPTION...: the job with these variables, shown and run. Sets status.
run() {
  local variables=()
  while [[ $1 != -- ]]; do
    variables+=("$1")
    shift
  done
  shift
  command_line "${variables[*]}${variables:+ }nccl-job $*"
  status=0
  env "${variables[@]}" "$job" "$@" 2>&1 | indented || status=${PIPESTATUS[0]}
  echo "    exit code $status"
}

# The same with fail-fast. One process of a node says why, which may be either here: its words are
# quoted, without what the warning has shown already.
stopped() {
  local variables=("$@" NCCL_RDMAGUARD_FAIL_FAST=1) begun=$EPOCHREALTIME seconds
  rm -f "$scratch"/guard-*.log
  command_line "${variables[*]} nccl-job"
  status=0
  env "${variables[@]}" "NCCL_RDMAGUARD_LOG=$scratch/guard-%r.log" "$job" 2>&1 | indented ||
    status=${PIPESTATUS[0]}
  seconds=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}')
  awk '/^  [a-z]/ {keep = $1 == "cause" || $1 == "causes" || $1 == "fix" || $1 == "now"}
       NR == 1 || keep' "$(spokesman)" | indented
  echo "    exit code $status, $seconds s after the start"
}

spokesman() { # the log of the rank that printed the block
  local log
  log=$(grep -ls '^  cause' "$scratch"/guard-*.log | head -n 1) || :
  echo "${log:-/dev/null}"
}

rule_named() { # the first rule that the block names as the cause
  sed -n '/^  cause/,/^  fix/p' "$(spokesman)" | grep -o '([a-z]*-[a-z-]*)' |
    head -n 1 | tr -d '()'
}

lost() { # NUMBER TITLE HOW STATE RULE [NAME=VALUE...]
  local number=$1 what=$2 how=$3 state=$4 rule=$5 warned
  shift 5
  title "$number  $what"
  [[ -z $how ]] || command_line "$how"
  sh "$here/../verbs/rdma-setup.sh" "$state"
  run "$@" -- --iterations 5
  warned=$status
  expect "the exit code of the warned run" 0 "$warned"
  stopped "$@"
  expect "the exit code with fail-fast" 78 "$status"
  expect "the cause" "$rule" "$(rule_named)"
  row "$what" "warned, exit code $warned" "fail-fast: exit code $status, $rule"
}

inside() {
  scratch=/tmp/rdmaguard # dies with the guest
  mkdir -p "$scratch"
  cat <<TEXT

rdmaguard with the real NCCL library, in a guest whose kernel has a software RDMA device, rxe0.
Two processes play two nodes: they load the library, choose a network as NCCL does, load the
plugin, and run a ring all-reduce on host memory over NCCL's own IB transport. There is no GPU
and the CPU is likely emulated: read the words, not the GB/s. Where NCCL falls back to Socket,
whose transport needs a CUDA driver, TCP of the job's own stands in for it.
The plugin is named once, as in any job:

    $ export NCCL_PROFILER_PLUGIN=rdmaguard
TEXT
  title '1/4  A healthy node'
  run NCCL_RDMAGUARD_INTERVAL=1 "NCCL_RDMAGUARD_DIR=$scratch/json" -- --bytes 256K --seconds 4
  expect "the exit code of the healthy run" 0 "$status"
  grep -q '"transport":"RoCE"' "$scratch"/json/*.jsonl || expect "the transport" RoCE "something else"
  echo "    each collective is a JSON line in NCCL_RDMAGUARD_DIR; the tap's bytes there, by rank:"
  sed -n 's/.*"rank":\([0-9]*\).*"process_net":\[{\(.*\),"failures".*/      rank \1: \2/p' \
    "$scratch"/json/*.jsonl | sort
  row 'A healthy node' "RoCE, exit code $status" ''
  lost 2/4 'The RDMA device is missing' 'rdma link delete rxe0' none no-rdma-device
  lost 3/4 'NCCL_IB_HCA names nothing' 'rdma link add rxe0 type rxe netdev roce0' roce \
    hca-filter-matches-nothing NCCL_IB_HCA=mlx5_7
  lost 4/4 'The port is down' 'ip link set roce0 down' down port-not-active
  title 'In short'
  printf '%s' "$summary"
  ((failures == 0))
}

# Without a guest: what NCCL would choose here, and what the guard says of it.
bare() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cat <<TEXT

No guest can be had on this machine (see above), so this is a dry run: the real NCCL library
chooses its network here, on the bare machine, as for a job of two nodes, and the guard gives
its verdict. Nothing is connected.
TEXT
  title '1/2  As it is'
  run -- --dry-run
  expect "the exit code" 0 "$status"
  title '2/2  With fail-fast: the job ends here unless it is on RDMA'
  run NCCL_RDMAGUARD_FAIL_FAST=1 -- --dry-run
  [[ $status == 0 ]] || expect "the exit code" 78 "$status"
  ((failures == 0))
}

case $where in
  inside) inside ;;
  bare) bare ;;
  *)
    if ! "$here/../verbs/guest.sh" --check; then exec "$0" "$build" "$libnccl" bare; fi
    colour=''
    [[ ! -t 1 ]] || colour=1
    echo "starting the guest (seconds under KVM, about 10 s emulated) ..."
    exec "$here/../verbs/guest.sh" --limit 300 --env RDMAGUARD_DEMO_COLOUR=$colour \
      -- "$0" "$build" "$libnccl" inside
    ;;
esac
