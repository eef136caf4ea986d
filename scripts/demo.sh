#!/usr/bin/env bash
# Gets this machine ready and shows the product at work on it: `make -f Makefile.nccl demo`.
# No GPU and no RDMA hardware needed. What is there already is not fetched or built again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Started by make, which would have its children share job slots they cannot see.
unset MAKEFLAGS MFLAGS MAKELEVEL

release=${RDMAGUARD_DEMO_NCCL:-2.32.3}
store=${RDMAGUARD_NCCL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/rdmaguard/nccl}

echo "demo: 1/4 packages"
scripts/setup.sh demo
echo "demo: 2/4 the real libnccl $release"
scripts/fetch-nccl.sh "$release"
echo "demo: 3/4 the plugin, the command and a small job"
make -f Makefile.nccl --no-print-directory build job
echo "demo: 4/4 a guest with a software RDMA device"
if tests/verbs/guest.sh --check 2>/dev/null; then tests/verbs/guest.sh --prepare; fi

exec tests/nccl/demo.sh "${BUILD:-build}" "$store/$release/nvidia/nccl/lib/libnccl.so.2"
