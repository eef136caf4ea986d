#!/usr/bin/env bash
# Fetches libnccl.so.2 and nccl.h of the releases named, from NVIDIA's wheels in the Python
# package index, for the demonstration and for the tests that run on the real library.
#   scripts/fetch-nccl.sh RELEASE...      for example: scripts/fetch-nccl.sh 2.32.3
#
# They land outside the tree, in ${RDMAGUARD_NCCL_DIR:-~/.cache/rdmaguard/nccl}/RELEASE/nvidia/nccl,
# once: what is there already costs nothing. Safe to run twice at the same time.
# Exit status: 0 all are there; 1 one could not be had.
set -euo pipefail

(($#)) || {
  echo "usage: scripts/fetch-nccl.sh RELEASE..." >&2
  exit 64
}
store=${RDMAGUARD_NCCL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/rdmaguard/nccl}

missing=()
for release in "$@"; do
  [[ -s $store/$release/nvidia/nccl/lib/libnccl.so.2 ]] || missing+=("$release")
done
((${#missing[@]})) || exit 0

mkdir -p "$store"
exec 9>"$store/.lock"
flock 9

# Takes the wheel apart with Python, so that unzip need not be installed.
unpack='
import sys, zipfile
wheel, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        if name in ("nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/include/nccl.h") or name.endswith(
            (".dist-info/METADATA", ".dist-info/licenses/License.txt", ".dist-info/License.txt")
        ):
            z.extract(name, target)
'

work=''
trap '[[ -z $work ]] || rm -rf "$work"' EXIT
bar=(--quiet)
[[ ! -t 2 ]] || bar=()
failed=0
for release in "${missing[@]}"; do
  # Another run may have fetched it while this one waited for the lock.
  if [[ -s $store/$release/nvidia/nccl/lib/libnccl.so.2 ]]; then continue; fi
  work=$(mktemp -d "$store/.fetch.XXXXXX")
  began=$SECONDS
  echo "nccl: fetching $release (a wheel of 150 to 350 MB, up to 480 MB unpacked) into $store"
  for package in nvidia-nccl-cu12 nvidia-nccl-cu13; do
    if python3 -m pip download "${bar[@]}" --no-deps --no-cache-dir --only-binary=:all: \
      --disable-pip-version-check -d "$work/wheel" "$package==$release" 2>"$work/log"; then
      break
    fi
  done
  wheel=$(compgen -G "$work/wheel/*.whl" | head -n 1 || true)
  if [[ -z $wheel ]]; then
    tail -n 5 "$work/log" >&2
    echo "nccl: no wheel of $release could be had from the Python package index" >&2
    failed=1
  else
    size=$(($(stat -c %s "$wheel") / 1000000))
    python3 -c "$unpack" "$wheel" "$work/tree"
    rm -rf "$work/wheel" "${store:?}/$release"
    # The last step, so that a folder with the release's name is always whole.
    mv "$work/tree" "$store/$release"
    echo "nccl: $release is there ($size MB fetched in $((SECONDS - began)) s)"
  fi
  rm -rf "$work"
  work=''
done
exit "$failed"
