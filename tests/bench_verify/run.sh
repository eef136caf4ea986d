#!/usr/bin/env bash
# What `rdmaguard verify` costs beside `grep -c`, on the log that scripts/make-log writes.
# usage: run.sh COMMAND [SIZE [RUNS]]   COMMAND: the rdmaguard to measure; SIZE 2G; RUNS 5
#
# Both read the same file, warm, on one core and in turn; the best of RUNS counts. Prints seconds,
# GB/s and the largest resident set. LOG=FILE measures another file; exit status 1 where verify is
# slower than 1 GB/s or takes 64 MB or more.
set -euo pipefail
command=${1:?usage: run.sh COMMAND [SIZE [RUNS]]}
size=${2:-2G}
runs=${3:-5}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
log=${LOG:-}
if [[ -z $log ]]; then
  log=$(mktemp --suffix=.txt)
  trap 'rm -f "$log"' EXIT
  "$root/scripts/make-log" "$size" >"$log"
fi

python3 - "$command" "$log" "$runs" <<'PYTHON'
import os, subprocess, sys, tempfile, time

command, log, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(arguments):
    """Seconds, MB resident at the most, exit status."""
    start = time.perf_counter()
    # Not /dev/null: grep notices, and stops at the first match.
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(arguments, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e6, child.returncode


gigabytes = os.path.getsize(log) / 1e9
contenders = {
    "rdmaguard verify": [command, "verify", "--json", log],
    "grep -c 'NCCL INFO'": ["grep", "-c", "NCCL INFO", log],
    "LC_ALL=C grep -c": ["env", "LC_ALL=C", "grep", "-c", "NCCL INFO", log],
    "wc -l": ["wc", "-l", log],
}
measure(contenders["wc -l"])  # warms the page cache
best = {}
for _ in range(runs):
    for name, arguments in contenders.items():
        one = measure(arguments)
        if name not in best or one[0] < best[name][0]:
            best[name] = one
print(f"{gigabytes:.2f} GB, one core, best of {runs}")
for name, (seconds, megabytes, status) in best.items():
    print(f"{name:22} {seconds:7.3f} s  {gigabytes / seconds:6.2f} GB/s  "
          f"{megabytes:6.1f} MB resident  exit status {status}")
verify, grep = best["rdmaguard verify"], best["grep -c 'NCCL INFO'"]
print(f"verify takes {verify[0] / grep[0]:.2f} times as long as grep -c")
sys.exit(0 if gigabytes / verify[0] >= 1 and verify[1] < 64 else 1)
PYTHON
