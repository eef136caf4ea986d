"""Runs every case of the guest tests, inside the guest, in one boot.

guest_runs.py OUT JOB PLUGIN_DIR RDMA_SETUP NCCL_DIR RELEASE...   (releases oldest first)

Leaves for each case OUT/RELEASE/CASE/: code, output, job.json, and the guard's JSON lines. What
they should say is guest_checks.py's business.
"""
import os
import pathlib
import subprocess
import sys
import time

HEALTHY = ["--bytes", "200004", "--iterations", "8", "--piece", "32K"]
SHORT = ["--bytes", "64K", "--iterations", "4"]
FAIL_FAST = {"NCCL_RDMAGUARD_FAIL_FAST": "1"}
HCA = {"NCCL_IB_HCA": "mlx5_7"}

# name, state of the devices, guard loaded, variables, options; for every release
EVERYWHERE = [
    ("plain", "roce", False, {}, HEALTHY),
    ("guarded", "roce", True, {}, HEALTHY),
]
# for the newest release and the one in the middle
FALLBACKS = [
    ("missing-warned", "none", True, {}, SHORT),
    ("missing-stopped", "none", True, FAIL_FAST, SHORT),
    ("hca-warned", "roce", True, HCA, SHORT),
    ("hca-stopped", "roce", True, {**HCA, **FAIL_FAST}, SHORT),
    ("down-warned", "down", True, {}, SHORT),
    ("down-stopped", "down", True, FAIL_FAST, SHORT),
]
# for the newest alone
NEWEST = [
    ("four-ranks", "roce", True, {}, ["--ranks", "4", *SHORT]),
    ("two-devices", "two", True, {}, HEALTHY),
    ("two-devices-plain", "two", False, {}, HEALTHY),
    ("off", "roce", True, {"NCCL_RDMAGUARD_ENABLE": "0"}, SHORT),
    ("untapped", "roce", True, {"NCCL_RDMAGUARD_TAP": "0"}, SHORT),
    ("one-node", "none", True, {**FAIL_FAST}, ["--nodes", "1", *SHORT]),
]


def main():
    out, job, plugins, setup, nccl, *releases = sys.argv[1:]
    middle = releases[len(releases) // 2]
    cases = [(r, c) for r in releases for c in EVERYWHERE]
    cases += [(r, c) for r in dict.fromkeys((releases[-1], middle)) for c in FALLBACKS]
    cases += [(releases[-1], c) for c in NEWEST]
    state_now = "roce"
    # Changing the devices takes time, and some need a rest in between: few changes.
    for release, (name, state, guarded, variables, options) in sorted(
        cases, key=lambda c: c[1][1]
    ):
        if state != state_now:
            subprocess.run(["sh", setup, state], check=True)
            state_now = state
        place = pathlib.Path(out, release, name)
        place.mkdir(parents=True)
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": plugins,
            "NCCL_RDMAGUARD_DIR": str(place),
            "NCCL_PROFILER_PLUGIN": "librdmaguard.so" if guarded else "none",
            **variables,
        }
        library = f"{nccl}/{release}/nvidia/nccl/lib/libnccl.so.2"
        command = [job, "--nccl", library, "--json", str(place / "job.json"), *options]
        begun = time.monotonic()
        with open(place / "output", "w", encoding="utf-8") as output:
            code = subprocess.run(command, env=environment, stdout=output, stderr=output).returncode
        (place / "code").write_text(str(code), encoding="utf-8")
        print(f"{release} {name}: {code}, {time.monotonic() - begun:.1f} s", flush=True)


main()
