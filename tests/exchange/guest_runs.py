"""Runs every exchange of the guest tests, inside the guest, in one boot.

guest_runs.py OUT SIDE RDMA_SETUP NCCL_DIR RELEASE...   (releases oldest first)

Leaves for each case and each of its sides OUT/RELEASE/CASE/: SIDE.json, SIDE.error, SIDE.code and
SIDE.seconds. What they should say is guest_checks.py's business.
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

PORT = 18600
QUICK = ["--bytes", "64K", "--seconds", "0.1"]
# Far past what a side may take: it hangs.
HANGS = 40


class Cases:
    def __init__(self, out, side, nccl):
        self.out = pathlib.Path(out)
        self.side = side
        self.nccl = nccl

    def start(self, release, case, role, options, variables=None):
        place = self.out / release / case
        place.mkdir(parents=True, exist_ok=True)
        meet = ["--listen", str(PORT)] if role == "listen" else ["--peer", f"127.0.0.1:{PORT}"]
        library = f"{self.nccl}/{release}/nvidia/nccl/lib/libnccl.so.2"
        with open(place / f"{role}.json", "wb") as text, open(place / f"{role}.error", "wb") as error:
            process = subprocess.Popen(
                [*self.side, *meet, "--nccl", library, "--json", *options],
                stdout=text, stderr=error, env={**os.environ, **(variables or {})})
        return process, place / role, time.monotonic()

    @staticmethod
    def end(started):
        process, name, begun = started
        try:
            code = process.wait(HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "hung"
        name.with_suffix(".code").write_text(str(code))
        name.with_suffix(".seconds").write_text(f"{time.monotonic() - begun:.2f}")
        print(f"{name.parent.parent.name} {name.parent.name} {name.name}: {code}", flush=True)

    def pair(self, release, case, listen=(), peer=(), variables=None, other=None):
        listening = self.start(release, case, "listen", [*QUICK, *listen], variables)
        connecting = self.start(other or release, case, "peer", [*QUICK, *peer])
        self.end(connecting)
        self.end(listening)

    def killed(self, release, case, victim):
        """Kills one side in the middle of its messages."""
        both = {role: self.start(release, case, role, ["--bytes", "64K", "--seconds", "60"])
                for role in ("listen", "peer")}
        time.sleep(3)
        both[victim][0].send_signal(signal.SIGKILL)
        for started in both.values():
            self.end(started)

    def alone(self, release, case, role, timeout):
        self.end(self.start(release, case, role, [*QUICK, "--timeout", str(timeout)]))

    def silent(self, release):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", PORT))
            listener.listen()
            self.alone(release, "silent", "peer", 2)


def main():
    out, side, setup, nccl, *releases = sys.argv[1:]
    cases = Cases(out, side.split(","), nccl)
    newest, middle = releases[-1], releases[len(releases) // 2]
    # The guest starts with one device.
    for release in releases:
        cases.pair(release, "one")
    if middle != newest:
        cases.pair(newest, "release", other=middle)
    cases.pair(newest, "disabled", variables={"NCCL_IB_DISABLE": "1"})
    cases.silent(newest)
    cases.alone(newest, "refused", "peer", 1)
    cases.alone(newest, "absent", "listen", 1)
    subprocess.run(["sh", setup, "two"], check=True)
    for release in releases:
        cases.pair(release, "two")
    cases.pair(newest, "both", peer=["--bidirectional"])
    cases.pair(newest, "named", listen=["--hca", "rxe1"], peer=["--hca", "rxe1:1"])
    limit = ["--timeout", "3"]
    cases.pair(newest, "unknown", listen=["--hca", "mlx5_7", *limit], peer=limit)
    cases.pair(newest, "crossed", listen=["--hca", "rxe0", *limit], peer=["--hca", "rxe1", *limit])
    cases.killed(newest, "listen-killed", "listen")
    cases.killed(newest, "peer-killed", "peer")


main()
