"""Runs every preflight of the guest tests, inside the guest, in one boot.

guest_runs.py OUT COMMAND RDMA_SETUP NCCL_DIR RELEASE...   (releases oldest first)

Leaves for each case OUT/RELEASE/CASE.json, .code and .err. What they should say is
guest_checks.py's business.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# name, state of the devices, variables, what breaks the node: a method of Node
EVERYWHERE = [
    ("healthy", "roce", {}, None),
    ("port-down", "down", {}, None),
    ("device-deleted", "none", {}, None),
    ("hca-names-nothing", "roce", {"NCCL_IB_HCA": "mlx5_7"}, None),
    ("hca-excludes-all", "roce", {"NCCL_IB_HCA": "^rxe"}, None),
    ("hca-names-a-port", "roce", {"NCCL_IB_HCA": "=rxe0:2"}, None),
    ("disabled-in-conf", "roce", {}, "conf"),
    ("verbs-gone", "roce", {}, "verbs"),
    ("provider-gone", "roce", {}, "provider"),
    ("four-one-down", "four", {}, None),
]
# An ordinary user: his limit of locked memory, and a device node that he may not open.
ORDINARY = [
    ("memlock-small", "roce", {}, "memlock"),
    ("node-unreadable", "roce", {}, "unreadable"),
]
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
        "--bounding-set=-all", "--"]


class Node:
    """Breaks the guest in one way and mends it again."""

    def __init__(self):
        self.moved = []
        self.away = tempfile.mkdtemp()

    def move(self, pattern):
        # Out of the loader's folders: ldconfig makes links to whatever is named lib*.so*.
        for path in glob.glob(pattern):
            away = os.path.join(self.away, str(len(self.moved)))
            shutil.move(path, away)
            self.moved.append((path, away))

    def conf(self):
        pathlib.Path("/etc/nccl.conf").write_text("NCCL_IB_DISABLE=1\n", encoding="utf-8")
        return []

    def verbs(self):
        self.move("/usr/lib/*/libibverbs.so*")
        self.move("/lib/*/libibverbs.so*")
        subprocess.run(["ldconfig"], check=True)
        return []

    def provider(self):
        for folder in ("/usr/lib/*/libibverbs", "/lib/*/libibverbs"):
            self.move(folder + "/librxe-*.so")
        return []

    def memlock(self):
        self.nodes(0o666)
        return [*USER, "bash", "-c", 'ulimit -l 16; exec "$@"', "bash"]

    def unreadable(self):
        self.nodes(0o600)
        return USER

    @staticmethod
    def nodes(mode):
        for path in glob.glob("/dev/infiniband/*"):
            os.chmod(path, mode)

    def mend(self):
        pathlib.Path("/etc/nccl.conf").unlink(missing_ok=True)
        for path, away in self.moved:
            shutil.move(away, path)
        if self.moved:
            subprocess.run(["ldconfig"], check=True)
        self.moved = []


def let_everybody_in(path):
    """The guest's root is a home folder's owner; an ordinary user is not."""
    for folder in pathlib.Path(path).resolve().parents:
        folder.chmod(folder.stat().st_mode | 0o055)


def main():
    out, command, setup, nccl, *releases = sys.argv[1:]
    for path in (command, f"{nccl}/{releases[0]}"):
        let_everybody_in(path)
    cases = [(r, c) for r in releases for c in EVERYWHERE + ORDINARY]
    state_now = "roce"
    for release, (name, state, variables, fault) in sorted(cases, key=lambda c: c[1][1]):
        if state != state_now:
            subprocess.run(["sh", setup, state], check=True)
            state_now = state
        place = pathlib.Path(out, release)
        place.mkdir(parents=True, exist_ok=True)
        library = f"{nccl}/{release}/nvidia/nccl/lib/libnccl.so.2"
        node = Node()
        as_whom = getattr(node, fault)() if fault else []
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [*as_whom, command, "preflight", "--nccl", library, "--limit", "60", "--json"],
                env={**os.environ, **variables}, capture_output=True, text=True)
        finally:
            node.mend()
        for ending, text in (("json", done.stdout), ("err", done.stderr), ("code", str(done.returncode))):
            (place / f"{name}.{ending}").write_text(text, encoding="utf-8")
        print(f"{release} {name}: {done.returncode}, {time.monotonic() - begun:.1f} s", flush=True)


main()
