#!/usr/bin/env bash
# Runs an NCCL job under the guard with fail-fast, in a CI step of any kind, and tells a job that
# lost its network from a job that is broken.   step.sh COMMAND [ARG...]
# Exit status: the command's own, or 78 when the guard stopped it because it was not on RDMA.
set -u

status=0
rdmaguard run --fail-fast -- "$@" || status=$?
case $status in
  0) echo "job: passed" ;;
  78) echo "job: stopped by the guard, the report above has the cause and the fix: look at the cluster" >&2 ;;
  *) echo "job: failed with $status for a reason of its own: look at the change" >&2 ;;
esac
exit "$status"
