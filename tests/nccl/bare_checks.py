"""The plugin under each real NCCL release, on this machine as it is: no guest, no GPU.

bare_checks.py NAME JOB PLUGIN_DIR NCCL_DIR

Where this machine has no RDMA, NCCL chooses Socket; the job's own TCP then stands in for NCCL's
Socket transport, which needs a CUDA driver. Exit status 77, with the reason: nothing to test with.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# guest_checks puts the folder of guest_boot on the path.
from guest_checks import PROFILER, Run
from guest_boot import number, skip

# Newest profiler interface each release looks for (nccl_abi/releases.h says the same of NCCL).
INTERFACES = [((2, 23), 1), ((2, 24), 2), ((2, 26), 3), ((2, 27), 4), ((2, 28), 5), ((2, 29), 6)]
INTERFACES.append(((2, 31), 7))
SHORT = ["--bytes", "64K", "--iterations", "5", "--channels", "2"]


class Checks:
    def __init__(self, job, plugins, nccl):
        self.job, self.plugins, self.nccl = job, plugins, pathlib.Path(nccl)
        found = [p.parents[3].name for p in self.nccl.glob("*/nvidia/nccl/lib/libnccl.so.2")]
        self.releases = sorted((r for r in found if number(r) >= PROFILER), key=number)
        if not self.releases:
            skip(f"no libnccl of 2.23 or later below {nccl} (scripts/fetch-nccl.sh)")

    def run(self, folder, release, options, **variables):
        place = pathlib.Path(folder, release, "case")
        place.mkdir(parents=True, exist_ok=True)
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("NCCL_")},
            "LD_LIBRARY_PATH": self.plugins,
            "NCCL_PROFILER_PLUGIN": "librdmaguard.so",
            "NCCL_RDMAGUARD_DIR": str(place),
            **variables,
        }
        library = self.nccl / release / "nvidia/nccl/lib/libnccl.so.2"
        command = [self.job, "--nccl", library, "--json", place / "job.json", *options]
        done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        (place / "code").write_text(str(done.returncode), encoding="utf-8")
        (place / "output").write_text(done.stdout, encoding="utf-8")
        run = Run(place)
        if run.job and run.job[0]["net"] != "Socket":
            skip(f"this machine has RDMA: NCCL {release} chose {run.job[0]['net']}")
        return run

    def each(self, options, **variables):
        for release in self.releases:
            with tempfile.TemporaryDirectory() as folder:
                yield self.run(folder, release, options, **variables)

    def EachReleaseTakesTheNewestInterfaceItKnows(self):
        for run in self.each(["--dry-run"]):
            expected = [v for since, v in INTERFACES if run.release >= since][-1]
            assert run.code == 0, run.output
            profiler = run.job[0]["profiler"]
            assert profiler and profiler["version"] == expected, f"{run.release}: {run.job}"
            assert profiler["result"] == 0 and profiler["mask"] != 0, f"{run.release}: {profiler}"

    def TheShortNameOpensThePluginFrom226On(self):
        for run in self.each(["--dry-run"], NCCL_PROFILER_PLUGIN="rdmaguard"):
            loaded = run.job[0]["profiler"] is not None
            assert loaded == (run.release >= (2, 26)), f"{run.release}: {run.job}"

    def EveryInterfaceRecordsEveryCollectiveAndTheSocketVerdict(self):
        for run in self.each(SHORT):
            assert run.code == 0, f"{run.release}: {run.output}"
            assert "THIS JOB RUNS OVER TCP (NET/Socket), NOT RDMA" in run.output, run.output
            # The interfaces before v4 do not tell the rank: the launcher's variables do.
            for rank in run.job:
                mine = run.records[rank["rank"]]
                assert mine["verdict"][-1]["transport"] == "Socket", mine["verdict"]
                total = mine["completeness"][-1]
                assert total["seen"] == total["written"] == 5 and total["dropped"] == 0, total
                timed = mine.get("coll_perf", []) + mine.get("coll_untimed", [])
                assert len(timed) == 5, f"{run.release}: {len(timed)} records"
                for record in timed:
                    assert record["coll"] == "AllReduce", record
                    assert record["coll_msg_size_bytes"] == 65536, record

    def FailFastStopsTheJobUnderEveryInterface(self):
        for run in self.each(SHORT, NCCL_RDMAGUARD_FAIL_FAST="1"):
            assert run.code == 78, f"{run.release}: exit code {run.code}\n{run.output}"
            assert not run.job, "a stopped job has no results"

    def AnotherExitCodeCanBeChosen(self):
        variables = {"NCCL_RDMAGUARD_ON_FALLBACK": "abort", "NCCL_RDMAGUARD_EXIT_CODE": "33"}
        with tempfile.TemporaryDirectory() as folder:
            run = self.run(folder, self.releases[-1], ["--dry-run"], **variables)
            assert run.code == 33, f"exit code {run.code}\n{run.output}"

    def OneNodeIsNeverAnAlarm(self):
        for run in self.each(["--nodes", "1", *SHORT], NCCL_RDMAGUARD_FAIL_FAST="1"):
            assert run.code == 0, f"{run.release}: exit code {run.code}\n{run.output}"
            assert "THIS JOB" not in run.output, run.output


def main():
    name, *rest = sys.argv[1:]
    try:
        getattr(Checks(*rest), name)()
    except (AssertionError, KeyError, json.JSONDecodeError) as failure:
        print(f"{name}: {failure!r}")
        sys.exit(1)


main()
