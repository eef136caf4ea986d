#!/usr/bin/env bash
# Makes a corpus of first inputs for each fuzz target out of tests/fixtures.
# usage: seeds.sh DIRECTORY   writes DIRECTORY/<target>/
set -euo pipefail
fixtures=$(cd "$(dirname "${BASH_SOURCE[0]}")/../fixtures" && pwd)
out=$1
largest=65536 # bytes; what is longer is cut, as pastes are

# take TARGET KIND...: the files of the fixtures of these kinds.
take() {
  local target=$1 truth folder name
  shift
  mkdir -p "$out/$target"
  for truth in "$fixtures"/*/truth.yaml; do
    [[ " $* " == *" $(sed -n 's/^kind: *//p' "$truth") "* ]] || continue
    folder=${truth%/truth.yaml}
    while IFS= read -r name; do
      head -c "$largest" "$name" >"$out/$target/${folder##*/}-${name##*/}"
    done < <(find "$folder" -type f ! -name truth.yaml)
  done
}

take log log error mixed
take events log error mixed
take perf perf mixed
take ports port mixed
take environment port mixed log
take spec spec mixed
take batch spec mixed
take input log error mixed perf port spec

# Values of JSON: one as it is, and each line of files that hold one a line.
mkdir -p "$out"/{spec_json,perf_json,compressed}
find "$fixtures" -name '*.json' -exec cp -t "$out/spec_json" {} +
find "$fixtures" -name '*.json*' -exec cp -t "$out/perf_json" {} +
printf '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":8,"rdma/ib":1}},"env":[{"name":"NCCL_IB_HCA","value":"ibp"}]}]}}' \
  >"$out/spec_json/pod"
# A broken archive costs as much to find as a whole one: small ones do.
for name in "$fixtures"/*/*.txt; do
  [[ $(stat -c %s "$name") -lt 4096 ]] || continue
  to=$out/compressed/$(basename "$(dirname "$name")")
  gzip -nc "$name" >"$to.gz"
  zstd -qc "$name" >"$to.zst"
  cp "$name" "$to.txt"
done
