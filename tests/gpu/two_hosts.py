"""Compares the guard's figures with CUDA events, and times its fail-fast. Started by run.sh.

Without --rank this is the driver: it starts two ranks on GPU 0, each with a host identity of its
own, which NCCL therefore connects through the network. With --rank it is one of them.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = [1 << shift for shift in (20, 21, 22, 23, 24, 25, 26, 27)]
WARM, TIMED = 5, 20
TOLERANCE = 0.05
FAIL_FAST_SECONDS = 2.0
EXIT_CODE = 78
RANKS = 2


# --- one rank -------------------------------------------------------------------------------


def run_rank(rank: int, output: Path) -> None:
    os.environ["NCCL_HOSTID"] = f"rdmaguard-test-host-{rank}"
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    torch.zeros(1, device="cuda").item()
    dist.init_process_group("nccl", rank=rank, world_size=RANKS)
    # The process group makes its communicator at the first collective: NCCL's init starts here.
    (output / f"init-{rank}").write_text(repr(time.monotonic()))
    dist.all_reduce(torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()

    medians = {}
    for size in SIZES:
        data = torch.zeros(size // 4, device="cuda")
        times = []
        for turn in range(WARM + TIMED):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            dist.all_reduce(data)
            end.record()
            end.synchronize()
            if turn >= WARM:
                times.append(begin.elapsed_time(end) * 1e3)
        medians[size] = statistics.median(times)
    (output / f"events-{rank}.json").write_text(json.dumps(medians))
    if rank == 0:
        print("NCCL", ".".join(map(str, torch.cuda.nccl.version())), "PyTorch", torch.__version__)
    dist.destroy_process_group()


# --- the driver -----------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_job(plugin: Path, output: Path, extra: dict[str, str], limit: float = 180.0):
    """Runs both ranks; returns a (code, ended, stderr) triple for each, ended on time.monotonic()."""
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "NCCL_NET": "Socket",
        "NCCL_NET_PLUGIN": "none",
        "NCCL_PROFILER_PLUGIN": plugin.name,
        "LD_LIBRARY_PATH": f"{plugin.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
        "NCCL_RDMAGUARD_DIR": str(output / "records"),
        **extra,
    }
    ranks = []
    for rank in range(RANKS):
        log = open(output / f"stderr-{rank}", "wb")
        command = [sys.executable, __file__, "--rank", str(rank), "--output", str(output)]
        ranks.append(subprocess.Popen(command, env=environment, stderr=log))
    ended = [None] * RANKS
    deadline = time.monotonic() + limit
    while None in ended and time.monotonic() < deadline:
        for i, process in enumerate(ranks):
            if ended[i] is None and process.poll() is not None:
                ended[i] = time.monotonic()
        time.sleep(0.005)
    for process in ranks:
        if process.poll() is None:
            process.kill()
            process.wait()
    return [
        (process.returncode, ended[i], (output / f"stderr-{i}").read_text(errors="replace"))
        for i, process in enumerate(ranks)
    ]


def guard_figures(records: Path) -> dict[int, list[dict]]:
    """Every all-reduce the guard recorded in one process, by size in bytes, in order."""
    found: dict[int, list[dict]] = {}
    for path in sorted(records.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            perf = record.get("coll_perf")
            rank = record.get("header", {}).get("rank")
            if perf and rank == 0 and perf["coll"] == "AllReduce":
                found.setdefault(perf["coll_msg_size_bytes"], []).append(perf)
    return found


def show(stderr: str, lines: int = 25) -> None:
    for line in stderr.splitlines()[-lines:]:
        print("    |", line)


def warn_run(plugin: Path) -> bool:
    print("\n== warn: the job completes, and busbw agrees with CUDA events")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        ranks = run_job(plugin, output, {"NCCL_RDMAGUARD_ON_FALLBACK": "warn"})
        if any(code != 0 for code, _, _ in ranks):
            print("  exit codes:", [code for code, _, _ in ranks])
            for _, _, stderr in ranks:
                show(stderr)
            return False
        warned = any("rdmaguard" in stderr and "Socket" in stderr for _, _, stderr in ranks)
        print("  completed;", "warned of Socket" if warned else "NO WARNING of Socket")
        events = json.loads((output / "events-0.json").read_text())
        guard = guard_figures(output / "records")

    good = warned
    factor = 2 * (RANKS - 1) / RANKS
    print(f"  {'bytes':>11} {'events us':>10} {'guard us':>10} {'events GB/s':>12} "
          f"{'guard GB/s':>11} {'off':>7}  timed by")
    for size in SIZES:
        perfs = guard.get(size, [])[-TIMED:]
        by_events = events[str(size)]
        bandwidth = size * factor / by_events / 1e3
        if not perfs:
            print(f"  {size:>11} {by_events:>10.1f}  the guard has no record: FAIL")
            good = False
            continue
        by_guard = statistics.median(p["coll_exec_time_us"] for p in perfs)
        reported = statistics.median(p["coll_busbw_gbs"] for p in perfs)
        off = reported / bandwidth - 1
        good &= abs(off) <= TOLERANCE
        print(f"  {size:>11} {by_events:>10.1f} {by_guard:>10.1f} {bandwidth:>12.3f} {reported:>11.3f} "
              f"{off:>+7.1%}  {perfs[-1].get('coll_timing_source', '?')}"
              f"{'' if abs(off) <= TOLERANCE else '  FAIL'}")
    return good


def fail_fast_run(plugin: Path) -> bool:
    print(f"\n== fail-fast: the job ends with {EXIT_CODE} within {FAIL_FAST_SECONDS:.0f} s of NCCL's init")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        ranks = run_job(plugin, output, {"NCCL_RDMAGUARD_FAIL_FAST": "1"}, limit=60.0)
        if not all((output / f"init-{rank}").exists() for rank in range(RANKS)):
            for _, _, stderr in ranks:
                show(stderr)
            return False
        began = max(float((output / f"init-{rank}").read_text()) for rank in range(RANKS))
    good = False
    for rank, (code, ended, stderr) in enumerate(ranks):
        took = ended - began if ended else float("inf")
        print(f"  rank {rank}: exit code {code}, {took:.2f} s after init began")
        named = "NCCL_NET" in stderr and "Socket" in stderr
        good |= code == EXIT_CODE and took < FAIL_FAST_SECONDS and named
    # A rank may also see its peer go first; what it must not do is carry on.
    good &= all(code != 0 and ended for code, ended, _ in ranks)
    show(next((stderr for code, _, stderr in ranks if code == EXIT_CODE), ranks[0][2]))
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", type=Path)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.rank is not None:
        run_rank(options.rank, options.output)
        return 0
    plugin = options.plugin.resolve()
    results = {"warn": warn_run(plugin), "fail-fast": fail_fast_run(plugin)}
    print()
    for name, good in results.items():
        print(f"{name}: {'PASS' if good else 'FAIL'}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
