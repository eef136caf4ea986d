#!/usr/bin/env bash
# The guard on a real GPU job: two processes on one GPU, made two hosts by NCCL_HOSTID,
# all-reduce with PyTorch over NCCL's Socket transport, once with the guard warning and once
# with fail-fast.   tests/gpu/run.sh      on any machine with one NVIDIA GPU.
#
# PyTorch is taken from the machine, else installed from the Python package index into a
# virtual environment under the cache (about 6 GB). RDMAGUARD_PLUGIN names a plugin that is
# already built. Exit status: 0 all true, 1 not, 77 no GPU here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "gpu: no NVIDIA GPU (or no driver) here: nothing was run" >&2
  exit 77
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/^/gpu: /'

plugin=${RDMAGUARD_PLUGIN:-$PWD/build/lib/librdmaguard.so}
if [[ -z ${RDMAGUARD_PLUGIN:-} ]]; then
  scripts/setup.sh plugin
  make -f Makefile.nccl plugin
fi

python=python3
if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  environment=${XDG_CACHE_HOME:-$HOME/.cache}/rdmaguard/torch
  python=$environment/bin/python3
  if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "gpu: no usable PyTorch here: installing it into $environment"
    python3 -m venv "$environment" || {
      echo "gpu: python3 has no venv module here (Debian: apt-get install python3-venv)" >&2
      exit 1
    }
    "$python" -m pip install --disable-pip-version-check torch numpy
  fi
fi
exec "$python" tests/gpu/two_hosts.py --plugin "$plugin"
