"""The exchanges over NCCL's own transport: what the runs of guest_runs.py must have left behind.

guest_checks.py boot OUT SIDE NCCL_DIR    one boot, all runs (the tests' fixture)
guest_checks.py NAME OUT                  one test

SIDE: the program and its first arguments, joined by commas. Exit status 77, with the reason: no
guest can be had here, or there is no libnccl.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "verbs"))
from guest_boot import run_checks  # noqa: E402


class Side:
    """What one side of one case left."""

    def __init__(self, place, role):
        self.name = f"{place.parent.name}/{place.name} {role}"
        self.code = (place / f"{role}.code").read_text()
        self.seconds = float((place / f"{role}.seconds").read_text())
        self.error = (place / f"{role}.error").read_text(errors="replace")
        text = (place / f"{role}.json").read_text(errors="replace")
        self.json = json.loads(text) if text else None

    def lines(self):
        """Without the remark that it listens."""
        return [line for line in self.error.splitlines() if "listening at port" not in line]


class Checks:
    def __init__(self, out):
        self.out = pathlib.Path(out)

    def of(self, case, role):
        places = sorted(p for p in self.out.glob(f"*/{case}") if (p / f"{role}.code").exists())
        assert places, f"no run of the case {case}"
        return [Side(place, role) for place in places]

    def right(self, case, devices):
        """Both sides of every release: these devices, whole messages, the same counts."""
        listening, connecting = self.of(case, "listen"), self.of(case, "peer")
        assert len(listening) == len(connecting)
        for a, b in zip(listening, connecting):
            for side in (a, b):
                assert side.code == "0", f"{side.name}: {side.code}\n{side.error}\n{side.json}"
                assert not side.lines(), f"{side.name}: {side.error}"
                assert [h["name"] for h in side.json["hcas"]] == devices, side.json["hcas"]
            for x, y in zip(a.json["hcas"], b.json["hcas"]):
                assert x["verified"] and y["verified"], (a.name, x, y)
                assert x["peer_name"] == y["name"] and y["peer_name"] == x["name"], (x, y)
                for sent, received in (("sent_bytes", "received_bytes"),
                                       ("sent_messages", "received_messages")):
                    assert x[sent] == y[received] and x[received] == y[sent], (a.name, x, y)
                # Whole messages of four sizes each way, pings, and the timed ones.
                assert y["sent_bytes"] >= 32 * 65536 // 2 and x["sent_bytes"] > 10 * 65536 // 2
                assert x["bytes"] == x["sent_bytes"] + x["received_bytes"]
                assert 0 < y["bandwidth_gbps"] < 100 and y["latency_us"] > 1, y
                assert x["bandwidth_gbps"] == y["bandwidth_gbps"], (x, y)
                assert x["line_rate_gbps"] == 2.5, x
        return listening, connecting

    def fails(self, side, code, words, within):
        assert side.code == code, f"{side.name}: {side.code}\n{side.error}"
        lines = side.lines()
        assert len(lines) == 1 and words in lines[0], f"{side.name}: {words!r}\n{side.error}"
        assert lines[0].startswith("rdmaguard preflight: "), lines
        assert side.seconds < within, f"{side.name} took {side.seconds} s"

    # --- right bytes -----------------------------------------------------------------

    def OneDeviceMovesTheRightBytesOnEveryRelease(self):
        self.right("one", ["rxe0"])

    def TwoDevicesMoveTheRightBytesInTurnOnEveryRelease(self):
        self.right("two", ["rxe0", "rxe1"])

    def BothWaysAtOnceMoveTheSameCountEachWay(self):
        for side in sum(self.right("both", ["rxe0", "rxe1"]), []):
            assert side.json["bidirectional"], side.name
            for hca in side.json["hcas"]:
                assert hca["sent_bytes"] == hca["received_bytes"], hca

    def OneDeviceCanBeNamed(self):
        self.right("named", ["rxe1"])

    # --- one clear line ----------------------------------------------------------------

    def AnotherReleaseIsNamedOnBothSides(self):
        runs = [r for r in ("listen", "peer") if list(self.out.glob(f"*/release/{r}.code"))]
        if not runs:
            print("skipped: one release alone")
            sys.exit(77)
        for role in runs:
            for side in self.of("release", role):
                self.fails(side, "2", "on the other side (rdmaguard-guest), net interfaces v", 15)

    def ASideWithoutHcaSaysSoOnBoth(self):
        for side in self.of("disabled", "listen"):
            self.fails(side, "2", "NCCL_IB_DISABLE=1 switches NCCL's IB transport off.", 15)
        for side in self.of("disabled", "peer"):
            self.fails(side, "2", "cannot take part: NCCL_IB_DISABLE=1 switches", 15)

    def ANameThatIsNoHcaIsSaidWithThoseThatAre(self):
        for role in ("listen", "peer"):
            for side in self.of("unknown", role):
                self.fails(side, "2", "mlx5_7 is none of those that NCCL uses here: rxe0:1, rxe1:1.", 15)

    def ASilentPeerIsGivenUpAtTheLimit(self):
        for side in self.of("silent", "peer"):
            self.fails(side, "2", "(127.0.0.1:18600) did not answer within 2 s.", 10)

    def ARefusedPortIsGivenUpAtTheLimit(self):
        for side in self.of("refused", "peer"):
            self.fails(side, "2", "Nobody listens at 127.0.0.1:18600: connections were refused", 10)

    def AnAbsentPeerIsGivenUpAtTheLimit(self):
        for side in self.of("absent", "listen"):
            self.fails(side, "2", "No other side came to port 18600 within 1 s.", 10)

    def DevicesOfTwoNetworksAreNamedOnBothSides(self):
        for role in ("listen", "peer"):
            for side in self.of("crossed", role):
                assert side.code == "2", f"{side.name}: {side.code}\n{side.error}"
                (hca,) = side.json["hcas"]
                assert not hca["verified"], hca
                assert "no message moved for 3 s" in hca["failure"] or \
                    "did not come up within 3 s" in hca["failure"] or \
                    "On the other side: " in hca["failure"], hca
                assert side.seconds < 20, side.seconds

    def AKilledPeerIsNoticedAtOnceOnTheOtherSide(self):
        for case, survivor in (("listen-killed", "peer"), ("peer-killed", "listen")):
            for side in self.of(case, survivor):
                # Killed after 3 s, where it would have run for a minute.
                self.fails(side, "2", "closed the connection.", 10)
                assert "closed the connection" in side.json["hcas"][0]["failure"], side.json
                assert side.json["hcas"][1]["failure"].startswith("Not tried"), side.json


if __name__ == "__main__":
    run_checks(Checks, HERE / "guest_runs.py", limit=300)
