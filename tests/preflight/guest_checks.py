"""The preflight's guest tests: what the runs of guest_runs.py must have said.

guest_checks.py boot OUT COMMAND NCCL_DIR    one boot, all runs (the tests' fixture)
guest_checks.py NAME OUT                     one test

Exit status 77, with the reason: no guest can be had here, or there is no libnccl.
"""
import json
import pathlib
import sys

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "verbs"))
from guest_boot import number, run_checks  # noqa: E402


class Checks:
    def __init__(self, out):
        self.out = pathlib.Path(out)

    def of(self, case, releases=3):
        """Each release's answer to a case: release, exit code, JSON."""
        found = sorted(self.out.glob(f"*/{case}.code"))
        assert len(found) >= releases, f"{case}: {len(found)} runs"
        for code in found:
            text = code.with_suffix(".json").read_text()
            err = code.with_suffix(".err").read_text()
            assert text, f"{code}: no answer; {err}"
            yield code.parent.name, int(code.read_text()), json.loads(text)

    @staticmethod
    def ib(answer):
        return next(n for n in answer["nccl"]["nets"] if n["name"] == "IB")

    def off(self, case, rule, words="", state="no_device"):
        """NCCL would take Socket here, and the cause is `rule`."""
        for release, code, answer in self.of(case):
            where = f"{release} {case}: {json.dumps(answer, indent=1)}"
            assert answer["nccl"]["outcome"] == "done", where
            assert answer["nccl"]["selected"] == "Socket", where
            assert self.ib(answer)["state"] == state, where
            assert answer["transport"] == "Socket" and answer["rdma_engaged"] == "no", where
            assert code == answer["exit_code"] == 2, where
            first = answer["missing_conditions"][0]
            assert first["id"] == rule, where
            assert [c["id"] for c in answer["causes"]][0] == rule, where
            said = first["what"] + json.dumps(first["evidence"])
            assert words in said, where
            assert answer["fix"], where

    def EveryAnswerFitsTheSchema(self):
        schema = json.loads((HERE.parent.parent / "docs" / "verdict.schema.json").read_text())
        validator = jsonschema.Draft202012Validator(schema)
        for path in sorted(self.out.glob("*/*.json")):
            errors = list(validator.iter_errors(json.loads(path.read_text())))
            assert not errors, f"{path}: {errors[0].message}"

    def AHealthyNodeIsOnRoCE(self):
        for release, code, answer in self.of("healthy"):
            where = f"{release}: {json.dumps(answer, indent=1)}"
            assert answer["rdma_engaged"] == "yes" and answer["transport"] == "RoCE", where
            # Software RDMA is a degraded signal, and the only one where NCCL looks for a GID itself.
            degraded = [d["id"] for d in answer["degraded_signals"]]
            old = number(release) < (2, 21)
            assert degraded == ["software-rdma"] + ["roce-gid-link-local"] * old, where
            assert code == 1 and not answer["missing_conditions"], where
            assert answer["nccl"]["version"] == release and answer["nccl"]["selected"] == "IB", where
            assert [d["name"] for d in self.ib(answer)["devices"]] == ["rxe0"], where

    def APortThatIsDownIsTheCause(self):
        self.off("port-down", "port-not-active", "roce0")

    def ADeletedDeviceIsTheCause(self):
        self.off("device-deleted", "no-rdma-device")

    def AnHcaListThatNamesNothingIsTheCause(self):
        self.off("hca-names-nothing", "hca-filter-matches-nothing", "mlx5_7")

    def AnHcaListThatExcludesAllIsTheCause(self):
        self.off("hca-excludes-all", "hca-filter-matches-nothing", "^rxe")

    def AnHcaListThatNamesAPortThatIsNotThereIsTheCause(self):
        self.off("hca-names-a-port", "hca-filter-matches-nothing", "rxe0:2")

    def ASettingInAConfFileAloneIsTheCauseWithItsLine(self):
        self.off("disabled-in-conf", "ib-disabled-by-env", "/etc/nccl.conf:1", state="failed")

    def AMissingLibibverbsIsTheCause(self):
        self.off("verbs-gone", "libibverbs-missing", state="failed")

    def AMissingProviderIsTheCause(self):
        self.off("provider-gone", "verbs-provider-missing")

    def ANodeThatAUserMayNotOpenIsTheCause(self):
        for release, code, answer in self.of("node-unreadable"):
            where = f"{release}: {json.dumps(answer, indent=1)}"
            assert code == 2 and answer["nccl"]["selected"] == "Socket", where
            assert answer["missing_conditions"][0]["id"] == "device-open-failed", where

    def TooLittleLockedMemoryIsSaidThoughNcclWouldTakeTheDevice(self):
        for release, code, answer in self.of("memlock-small"):
            where = f"{release}: {json.dumps(answer, indent=1)}"
            assert answer["nccl"]["selected"] == "IB", where
            ids = [d["id"] for d in answer["degraded_signals"]]
            assert "memlock-limited" in ids, where
            assert answer["node"]["memlock_bytes"] == 16384, where
            assert code == 1, where

    def OurListOfDevicesIsNccls(self):
        for release, _, answer in self.of("four-one-down"):
            where = f"{release}: {json.dumps(answer, indent=1)}"
            nccls = [d["name"] for d in self.ib(answer)["devices"]]
            ours = [
                d["name"] for d in answer["node"]["rdma_devices"]
                if any(p["state"] == "ACTIVE" for p in d["ports"])
            ]
            assert nccls == ours == ["rxe0", "rxe1", "rxe3"], where
            assert answer["rdma_engaged"] == "yes", where
            assert any("rxe2" in json.dumps(d) for d in answer["degraded_signals"]), where


if __name__ == "__main__":
    run_checks(Checks, HERE / "guest_runs.py")
