#!/usr/bin/env bash
# Runs a multi-node NCCL job under the guard with fail-fast, in a CI step of any kind.
#   step.sh COMMAND [ARG...]
# RDMAGUARD_LIB is the folder that holds librdmaguard.so (default /usr/local/lib).
# Exit status: the command's own, or 78 when a rank was stopped because it was not on RDMA.
set -uo pipefail

(($#)) || {
  echo "usage: step.sh COMMAND [ARG...]" >&2
  exit 64
}
records=$(mktemp -d)
export LD_LIBRARY_PATH=${RDMAGUARD_LIB:-/usr/local/lib}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export NCCL_PROFILER_PLUGIN=librdmaguard.so
export NCCL_RDMAGUARD_FAIL_FAST=1
export NCCL_RDMAGUARD_DIR=$records

"$@"
status=$?

# Launchers like torchrun end with a code of their own; the guard's records still tell.
if ((status != 0)) && grep -qs '"action": *"abort"' "$records"/*.jsonl; then
  status=78
fi
case $status in
  0) echo "passed" ;;
  78) echo "stopped by rdmaguard: not on RDMA; its report above has the cause and the fix" >&2 ;;
  *) echo "failed with $status, for a reason of its own" >&2 ;;
esac
rm -rf "$records"
exit "$status"
