"""The guest tests: what the runs of guest_runs.py must have left behind.

guest_checks.py boot OUT JOB PLUGIN_DIR NCCL_DIR    one boot, all runs (the tests' fixture)
guest_checks.py NAME OUT                            one test

Exit status 77, with the reason: no guest can be had here, or there is no libnccl.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "verbs"))
from guest_boot import number, run_checks  # noqa: E402

# The profiler interface came with 2.23, and the kernel's own times with 2.27.
PROFILER = (2, 23)
KERNEL_TIMES = (2, 27)


class Run:
    """One case: exit code, output, the job's own figures and the guard's records by rank."""

    def __init__(self, place):
        self.name = f"{place.parent.name}/{place.name}"
        self.release = number(place.parent.name)
        self.code = int((place / "code").read_text())
        self.output = (place / "output").read_text(errors="replace")
        self.job = json.loads((place / "job.json").read_text()) if (place / "job.json").exists() else []
        self.records = {}
        for file in sorted(place.glob("*.jsonl")):
            for line in file.read_text().splitlines():
                record = json.loads(line)
                rank = record["header"]["rank"]
                mine = self.records.setdefault(rank, {})
                for key in record:
                    if key not in ("header", "metadata"):
                        mine.setdefault(key, []).append(record[key])

    def last(self, rank, key):
        return self.records[rank][key][-1]


class Checks:
    def __init__(self, out):
        self.runs = {}
        for code in sorted(pathlib.Path(out).glob("*/*/code")):
            run = Run(code.parent)
            self.runs.setdefault(code.parent.name, []).append(run)

    def of(self, name, since=(0,)):
        runs = [run for run in self.runs.get(name, []) if run.release >= since]
        assert runs, f"no run of the case {name}"
        return runs

    # --- the transport, without the guard ------------------------------------------

    def StockNcclMovesDataOverSoftRoCE(self):
        for run in self.of("plain") + self.of("two-devices-plain"):
            assert run.code == 0, f"{run.name}: exit code {run.code}\n{run.output}"
            for rank in run.job:
                assert rank["net"] == "IB" and rank["carrier"] == "NCCL's IB transport", run.name
                assert rank["exact"], f"{run.name}: wrong sums"
                # A ring moves 2 (n-1)/n of the message each way; uneven chunks shift a piece.
                assert rank["bytesSent"] == 8 * 200004, f"{run.name}: {rank['bytesSent']} bytes"

    # --- the same with it ------------------------------------------------------------

    def TheAllReduceIsRightWithAndWithoutTheGuard(self):
        for name in ("plain", "guarded", "two-devices", "four-ranks", "off", "untapped"):
            for run in self.of(name):
                assert run.code == 0, f"{run.name}: exit code {run.code}\n{run.output}"
                assert all(rank["exact"] for rank in run.job), f"{run.name}: wrong sums"

    def TheDeviceListIsTheSameWithAndWithoutTheGuard(self):
        for plain, guarded in (("plain", "guarded"), ("two-devices-plain", "two-devices")):
            for a, b in zip(self.of(plain), self.of(guarded)):
                assert a.release == b.release
                for x, y in zip(a.job, b.job):
                    assert x["devices"] == y["devices"] and x["net"] == y["net"], a.name

    def BytesCountedByTheTapEqualBytesMoved(self):
        for run in self.of("guarded", PROFILER) + self.of("four-ranks") + self.of("two-devices"):
            for rank in run.job:
                devices = run.last(rank["rank"], "process_net")
                sent = sum(d["sent_bytes"] for d in devices)
                received = sum(d["received_bytes"] for d in devices)
                assert sent == rank["bytesSent"], f"{run.name}: {sent} of {rank['bytesSent']}"
                assert received == rank["bytesReceived"], f"{run.name}: {received}"
                assert all(d["failures"] == 0 and d["net"] == "IB" for d in devices), run.name

    def EachDeviceOfTwoIsCountedByItself(self):
        for run in self.of("two-devices"):
            for rank in run.job:
                devices = run.last(rank["rank"], "process_net")
                assert [d["device"] for d in devices] == ["rxe0", "rxe1"], devices
                # Two channels, one a device, each half of the elements.
                halves = [d["sent_bytes"] for d in devices]
                assert all(abs(h - rank["bytesSent"] / 2) <= 64 for h in halves), halves

    def AHealthyJobIsReportedAsRoCEOnItsDevice(self):
        for run in self.of("guarded", PROFILER):
            assert "transport=RoCE devices=rxe0" in run.output, f"{run.name}\n{run.output}"
            assert "THIS JOB" not in run.output, run.output
            for rank in run.job:
                verdict = run.last(rank["rank"], "verdict")
                assert verdict["rdma_engaged"] == "yes", verdict
                assert verdict["transport"] == "RoCE" and verdict["gdr"] == "disabled", verdict
                assert verdict["action"] == "none" and not verdict["missing_conditions"], verdict
                collective = run.last(rank["rank"], "coll_perf")
                assert collective["transport"] == "RoCE", collective
                assert collective["devices"] == ["rxe0"], collective

    def EveryCollectiveIsRecordedWithTheTimeItTook(self):
        for run in self.of("guarded", PROFILER) + self.of("four-ranks") + self.of("two-devices"):
            for rank in run.job:
                mine = run.last(rank["rank"], "completeness")
                assert mine["seen"] == mine["written"] + mine["dropped"], mine
                assert mine["seen"] == rank["collectives"] and mine["dropped"] == 0, mine
                records = sorted(run.records[rank["rank"]]["coll_perf"], key=lambda c: c["coll_sn"])
                assert len(records) == rank["collectives"], run.name
                ranks = len(run.job)
                for record, nanoseconds in zip(records, rank["durationsNs"]):
                    assert record["coll"] == "AllReduce", record
                    assert record["coll_msg_size_bytes"] == rank["bytes"], record
                    assert record["coll_algo"] == "RING" and record["coll_proto"] == "SIMPLE", record
                    micros = record["coll_exec_time_us"]
                    if run.release >= KERNEL_TIMES:
                        # The kernel's own times: the job's to the nanosecond, and rounding.
                        assert abs(micros * 1000 - nanoseconds) <= 1000, (run.name, record)
                    busbw = rank["bytes"] / (micros * 1000) * 2 * (ranks - 1) / ranks
                    assert abs(record["coll_busbw_gbs"] - busbw) <= 0.01 * busbw + 1e-6, record

    # --- RDMA lost -------------------------------------------------------------------

    def lost(self, case, rule, words):
        for run in self.of(f"{case}-warned"):
            assert run.code == 0, f"{run.name}: exit code {run.code}\n{run.output}"
            assert all(rank["net"] == "Socket" and rank["exact"] for rank in run.job), run.name
            self.said(run, rule, words, "warn")
        for run in self.of(f"{case}-stopped"):
            assert run.code == 78, f"{run.name}: exit code {run.code}\n{run.output}"
            assert not run.job, "a stopped job has no results"
            self.said(run, rule, words, "abort")

    @staticmethod
    def said(run, rule, words, action):
        text = " ".join(run.output.split())
        assert "THIS JOB RUNS OVER TCP (NET/Socket), NOT RDMA" in text, run.output
        assert f"({rule})" in text, f"{run.name}: {rule} is not named\n{run.output}"
        assert words in text, f"{run.name}: {words!r} is not said\n{run.output}"
        for rank in (0, 1):
            verdict = run.last(rank, "verdict")
            assert verdict["transport"] == "Socket" and verdict["rdma_engaged"] == "no", verdict
            assert verdict["missing_conditions"][0]["id"] == rule, verdict
            assert verdict["fix"], verdict
            assert verdict["action"] == action, f"{run.name}: rank {rank} did {verdict['action']}"

    def AMissingDeviceIsNamedAsTheCauseAndStopsTheJobWhenAsked(self):
        self.lost("missing", "no-rdma-device", "The kernel shows no RDMA device here.")

    def AnHcaListThatMatchesNothingIsNamedAsTheCauseAndStopsTheJobWhenAsked(self):
        self.lost("hca", "hca-filter-matches-nothing", "NCCL_IB_HCA=mlx5_7 matches none")

    def APortThatIsDownIsNamedAsTheCauseAndStopsTheJobWhenAsked(self):
        self.lost("down", "port-not-active", "the interface roce0 is administratively down")

    # --- switches --------------------------------------------------------------------

    def SwitchedOffTheGuardLeavesNoTrace(self):
        for run in self.of("off"):
            assert run.code == 0 and "rdmaguard" not in re.sub("rdmaguard-guest", "", run.output)
            assert not run.records, run.records
            assert all(rank["profiler"]["mask"] == 0 for rank in run.job), run.job

    def WithoutTheTapTheVerdictStandsAndNoBytesAreClaimed(self):
        for run in self.of("untapped"):
            assert run.code == 0, run.output
            for rank in run.job:
                assert run.last(rank["rank"], "verdict")["rdma_engaged"] != "no", run.records
                assert not run.last(rank["rank"], "process_net"), run.records

    def OneNodeNeedsNoNetworkAndIsNeverStopped(self):
        for run in self.of("one-node"):
            assert run.code == 0, f"{run.name}: exit code {run.code}\n{run.output}"
            assert "THIS JOB" not in run.output, run.output


if __name__ == "__main__":
    run_checks(Checks, HERE / "guest_runs.py")
