"""One boot of the guest for all runs of a test folder, and the releases of NCCL to run there."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GUEST = HERE / "guest.sh"
SETUP = HERE / "rdma-setup.sh"


def skip(reason):
    """Ends the test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(77)


def number(release):
    return tuple(int(part) for part in release.split("."))


def releases_in(folder):
    """Those of RDMAGUARD_NCCL_RELEASES, else the oldest, the middle and the newest there are."""
    folder = pathlib.Path(folder)
    found = [p.parent.parent.parent.parent.name for p in folder.glob("*/nvidia/nccl/lib/libnccl.so.2")]
    found = sorted((r for r in found if re.fullmatch(r"[\d.]+", r)), key=number)
    asked = os.environ.get("RDMAGUARD_NCCL_RELEASES", "")
    if asked:
        return [r for r in found if asked == "all" or r in asked.split()]
    return sorted({found[0], found[len(found) // 2], found[-1]}, key=number) if found else []


def boot(out, nccl, script, *arguments, limit=900):
    """Runs `script OUT ARGUMENT... SETUP NCCL RELEASE...` in the guest; ends with its status.

    Where no guest or no libnccl can be had the folder OUT says so, for skipped_before().
    """
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    check = subprocess.run([GUEST, "--check"], capture_output=True, text=True)
    reason = check.stderr.strip() if check.returncode != 0 else ""
    releases = releases_in(nccl)
    if not reason and not releases:
        reason = f"no libnccl below {nccl} (scripts/fetch-nccl.sh)"
    if reason:
        (out / "skipped").write_text(reason, encoding="utf-8")
        skip(reason)
    command = [GUEST, "--verbose", "--limit", limit, "--write", out, "--", sys.executable, "-B"]
    command += [script, out, *arguments, SETUP, nccl, *releases]
    sys.exit(subprocess.run([str(c) for c in command]).returncode)


def skipped_before(out):
    """Ends the test as skipped where the boot was."""
    marker = pathlib.Path(out, "skipped")
    if marker.exists():
        skip(marker.read_text(encoding="utf-8"))


def run_checks(checks, script, limit=900):
    """`PROGRAM boot OUT ARGUMENT... NCCL` boots for all runs of `script`; `PROGRAM NAME OUT` is
    one test, a method of checks(OUT)."""
    name, out, *rest = sys.argv[1:]
    if name == "boot":
        *arguments, nccl = rest
        boot(out, nccl, script, *arguments, limit=limit)
    skipped_before(out)
    try:
        getattr(checks(out), name)()
    except AssertionError as failure:
        print(f"{name}: {failure}")
        sys.exit(1)
