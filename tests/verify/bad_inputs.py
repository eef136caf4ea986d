#!/usr/bin/env python3
"""`rdmaguard verify` on inputs that are none, broken or hostile.

usage: bad_inputs.py COMMAND [--only NAME]...

Each must end by itself, within its limits of time and memory, with an exit status that says what
happened and a message a user can act on. Exit status 1 if one does not.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

NO_INPUT, UNKNOWN = 66, 3
VERDICTS = {0, 1, 2, 3}
MB = 10**6


class Case:
    """`make(folder)` writes the input and returns the arguments.

    A case may also return a pair (arguments, standard input). `says` must occur in what is
    printed, either stream.
    """

    def __init__(self, name, make, statuses, says="", megabytes=64, seconds=10, user=None):
        self.name, self.make, self.statuses, self.says = name, make, statuses, says
        self.megabytes, self.seconds, self.user = megabytes, seconds, user


HEALTHY = "\n".join(
    f"node-{r // 2}:{4711 + r}:{4811 + r} [{r % 2}] NCCL INFO {text}"
    for r in range(4)
    for text in (
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>",
        "Using network IB",
        f"comm 0x55d1c0001400 rank {r} nRanks 4 nNodes 2 localRanks 2 localRank {r % 2} MNNVL 0",
        f"Channel 00/0 : {r}[{r % 2}] -> {(r + 1) % 4}[{(r + 1) % 2}] [send] via NET/IB/0/GDRDMA",
        f"Channel 00/0 : {(r + 3) % 4}[{(r + 1) % 2}] -> {r}[{r % 2}] [receive] via NET/IB/0/GDRDMA",
        "Connected all rings, use ring PXN 0 GDR 1",
    )
) + "\n"
POD = """apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  containers:
  - name: worker
    image: example/train
    env:
    - {name: NCCL_IB_HCA, value: ibp}
    - {name: NCCL_SOCKET_IFNAME, value: eth0}
    resources:
      limits: {nvidia.com/gpu: 8, rdma/ib: 1}
      requests: {nvidia.com/gpu: 8, rdma/ib: 1}
"""


def file(name, data):
    def make(folder):
        (folder / name).write_bytes(data() if callable(data) else data)
        return [name]

    return make


def text(name, data):
    return file(name, lambda: (data() if callable(data) else data).encode())


def noise():
    """Bytes without any order, the same each time."""
    state, out = 1, bytearray()
    while len(out) < MB:
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        out += state.to_bytes(8, "little")
    return bytes(out)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def one_line(folder):
    with open(folder / "line.txt", "wb") as out:
        for _ in range(100):
            out.write(b"abcdefghi " * (MB // 10))
    return ["line.txt"]


def one_nccl_line(folder):
    with open(folder / "line.txt", "wb") as out:
        for _ in range(100):
            out.write(b"a:1:2 [0] NCCL INFO Using net" * (MB // 29))
    return ["line.txt"]


def zeros_compressed(folder):
    """1 GB of zeros in a megabyte."""
    (folder / "zeros.gz").write_bytes(gzip.compress(bytes(10**8), mtime=0) * 10)
    return ["zeros.gz"]


def empty_folder(folder):
    (folder / "logs" / "nccl").mkdir(parents=True)
    return ["logs"]


def unreadable(folder):
    (folder / "log.txt").write_text(HEALTHY)
    (folder / "log.txt").chmod(0)
    return ["log.txt"]


def looped_folder(folder):
    (folder / "logs").mkdir()
    (folder / "logs" / "log.txt").write_text(HEALTHY)
    (folder / "logs" / "again").symlink_to(folder / "logs")
    (folder / "logs" / "gone").symlink_to(folder / "nowhere")
    return ["logs"]


def folder_with_fifo(folder):
    (folder / "logs").mkdir()
    os.mkfifo(folder / "logs" / "a-fifo")
    (folder / "logs" / "log.txt").write_text(HEALTHY)
    return ["logs"]


def fifo(folder):
    """As the shell's <(command) makes one."""
    os.mkfifo(folder / "fifo")
    threading.Thread(target=lambda: (folder / "fifo").write_text(HEALTHY), daemon=True).start()
    return ["fifo"]


def alias_bomb():
    lines = ["apiVersion: v1", "kind: Pod", "spec:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    return "\n".join(lines) + "\n" + POD.split("spec:\n", 1)[1]


def alias_to_itself():
    return "apiVersion: v1\nkind: Pod\nspec: &s\n  containers:\n  - name: a\n    spec: *s\n"


def merge_bomb():
    lines = ["apiVersion: v1", "kind: Pod", "spec:", "  a0: &a0 {x: 1, y: 2}"]
    lines += [f"  a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 30)]
    return "\n".join(lines) + "\n" + POD.split("spec:\n", 1)[1]


def large_yaml():
    """One pod behind 10 MB of a ConfigMap."""
    entries = "".join(f"  key-{i}: value-{i}\n" for i in range(10 * MB // 26))
    return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n" + entries + "---\n" + POD


def many_pods():
    """10 MB of pods."""
    pod = POD.replace("worker", "worker-%d")
    return "---\n".join(pod.replace("%d", str(i)) for i in range(10 * MB // len(POD)))


def many_pods_json():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": {"containers": [
        {"name": "w", "env": [{"name": "NCCL_IB_HCA", "value": "ibp"},
                              {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}],
         "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}}}]}}
    items = 10 * MB // len(json.dumps(pod))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod] * items}, indent=1)


DEEP = 100_000
HEAD = "apiVersion: v1\nkind: Pod\nspec:\n"


def mapping_deep():
    # Each level one blank further in; fewer levels, or the indentation alone would be 5 GB.
    return HEAD + "".join(" " * i + "a:\n" for i in range(1, 3000))


CASES = [
    Case("empty", file("empty.txt", b""), {NO_INPUT, UNKNOWN}, "empty.txt"),
    Case("empty-on-stdin", lambda f: (["-"], b""), {NO_INPUT, UNKNOWN}),
    Case("blank", file("blank.txt", b"\n \n\t\r\n\n"), {NO_INPUT, UNKNOWN}),
    Case("one-zero-byte", file("zero.bin", b"\0"), {NO_INPUT, UNKNOWN}),
    Case("binary", file("noise.bin", noise), {NO_INPUT, UNKNOWN}, "noise.bin"),
    Case("binary-on-stdin", lambda f: (["-"], noise()), {NO_INPUT, UNKNOWN}),
    Case("a-program", lambda f: [sys.executable], {NO_INPUT, UNKNOWN}),
    Case("100-mb-line", one_line, {NO_INPUT, UNKNOWN}, "line.txt"),
    Case("100-mb-nccl-line", one_nccl_line, {NO_INPUT, UNKNOWN}),
    Case("100-mb-of-newlines", file("lines.txt", lambda: b"\n" * 10**8), {NO_INPUT, UNKNOWN}),
    Case("gzip-cut-in-its-header", file("log.txt.gz", lambda: gzip.compress(HEALTHY.encode())[:9]),
         {NO_INPUT, UNKNOWN}, "log.txt.gz"),
    Case("gzip-cut", file("log.txt.gz", lambda: gzip.compress(HEALTHY.encode())[:-20]),
         VERDICTS | {NO_INPUT}, "log.txt.gz"),
    Case("gzip-damaged", file("log.gz", lambda: gzip.compress(HEALTHY.encode())[:60] + b"\xff" * 90),
         VERDICTS | {NO_INPUT}, "log.gz"),
    Case("gzip-of-gzip", file("log.gz", lambda: gzip.compress(gzip.compress(HEALTHY.encode()))),
         VERDICTS | {NO_INPUT}),
    Case("gzip-in-name-only", text("log.gz", HEALTHY), {0}),
    Case("gzip-without-the-name", file("log.txt", lambda: gzip.compress(HEALTHY.encode())), {0}),
    Case("gzip-on-stdin", lambda f: (["-"], gzip.compress(HEALTHY.encode())), {0}),
    Case("gzip-with-noise-behind", file("log.gz", lambda: gzip.compress(HEALTHY.encode()) + b"abc\0def"),
         {0}),
    Case("gzip-bomb", zeros_compressed, {NO_INPUT, UNKNOWN}, seconds=30),
    Case("zstd-cut-in-its-header", file("log.zst", lambda: zstd(HEALTHY.encode())[:5]),
         {NO_INPUT, UNKNOWN}, "log.zst"),
    Case("zstd-cut", file("log.zst", lambda: zstd(HEALTHY.encode())[:-20]), VERDICTS | {NO_INPUT},
         "log.zst"),
    Case("zstd-damaged", file("log.zst", lambda: zstd(HEALTHY.encode())[:40] + b"\xff" * 90),
         VERDICTS | {NO_INPUT}, "log.zst"),
    Case("zstd-on-stdin", lambda f: (["-"], zstd(HEALTHY.encode())), {0}),
    Case("missing", lambda f: ["nowhere.txt"], {NO_INPUT}, "nowhere.txt"),
    Case("missing-beside-good", lambda f: text("log.txt", HEALTHY)(f) + ["nowhere.txt"],
         VERDICTS, "nowhere.txt"),
    Case("no-argument-and-nothing-on-stdin", lambda f: ([], b""), {NO_INPUT, UNKNOWN, 64}),
    Case("unreadable", unreadable, {NO_INPUT}, "log.txt", user=65534),
    Case("folder-without-files", empty_folder, {NO_INPUT}, "logs"),
    Case("folder-that-holds-itself", looped_folder, {0}),
    Case("folder-with-a-fifo", folder_with_fifo, {0}),
    Case("fifo", fifo, {0}),
    Case("device", lambda f: ["/dev/null"], {NO_INPUT, UNKNOWN}),
    Case("utf-16-little-endian", file("log.txt", lambda: b"\xff\xfe" + HEALTHY.encode("utf-16-le")), {0}),
    Case("utf-16-big-endian", file("log.txt", lambda: b"\xfe\xff" + HEALTHY.encode("utf-16-be")), {0}),
    Case("utf-16-cut", file("log.txt", lambda: b"\xff\xfe" + HEALTHY.encode("utf-16-le")[:-1]), {0}),
    Case("latin-1-among-it", file("log.txt", lambda: b"caf\xe9\n" + HEALTHY.encode()), {0}),
    Case("no-end-of-line", text("log.txt", HEALTHY.rstrip("\n")), {0}),
    Case("old-mac-line-ends", text("log.txt", HEALTHY.replace("\n", "\r")), VERDICTS | {NO_INPUT}),
    Case("yaml-alias-bomb", text("pod.yaml", alias_bomb), VERDICTS, megabytes=200),
    Case("yaml-merge-bomb", text("pod.yaml", merge_bomb), VERDICTS, megabytes=200),
    Case("yaml-alias-to-itself", text("pod.yaml", alias_to_itself), VERDICTS, megabytes=100),
    Case("yaml-10-mb", text("pod.yaml", large_yaml), {0}, megabytes=1000, seconds=30),
    Case("yaml-10-mb-of-pods", text("pod.yaml", many_pods), {0}, megabytes=1000, seconds=60),
    Case("json-10-mb-of-pods", text("pod.json", many_pods_json), {0}, megabytes=1000, seconds=60),
    Case("yaml-deep-flow", text("pod.yaml", lambda: HEAD + " a: " + "[" * DEEP), VERDICTS, megabytes=500),
    Case("yaml-deep-flow-closed", text("pod.yaml", lambda: HEAD + " a: " + "[" * DEEP + "]" * DEEP),
         VERDICTS, megabytes=500),
    Case("yaml-deep-flow-lines", text("pod.yaml", lambda: HEAD + " a: " + "[\n  " * DEEP), VERDICTS,
         megabytes=500),
    Case("yaml-deep-maps", text("pod.yaml", lambda: HEAD + " a: " + "{a: " * DEEP + "}" * DEEP),
         VERDICTS, megabytes=500),
    Case("yaml-deep-sequence", text("pod.yaml", lambda: HEAD + " a:\n  " + "- " * DEEP + "x\n"), VERDICTS,
         megabytes=500),
    Case("yaml-deep-keys", text("pod.yaml", lambda: HEAD + " " + "? " * DEEP + "x\n"), VERDICTS,
         megabytes=500),
    Case("yaml-deep-block", text("pod.yaml", mapping_deep), VERDICTS, megabytes=500),
    Case("json-deep", text("pod.json", lambda: '{"apiVersion":"v1","kind":"Pod","spec":'
                           + '{"a":' * DEEP + "1" + "}" * (DEEP + 1)), VERDICTS | {NO_INPUT}, megabytes=500),
    Case("json-deep-array", text("x.json", lambda: "[" * DEEP + "]" * DEEP), {UNKNOWN, NO_INPUT},
         megabytes=500),
    Case("json-deep-lines", text("x.json", lambda: "{\n" + '"a":{\n' * DEEP), {UNKNOWN, NO_INPUT},
         megabytes=500),
    Case("json-cut", text("pod.json", '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"na'),
         VERDICTS | {NO_INPUT}),
    Case("a-million-hosts", text("log.txt", lambda: "".join(
        f"h{i}:{i}:{i} [0] NCCL INFO Using network IB\n" for i in range(10**6))), VERDICTS,
         megabytes=1500, seconds=60),
    Case("a-million-errors", text("log.txt", lambda: "".join(
        f"n:1:2 [0] NCCL WARN NET/IB : Got completion from peer 192.0.2.{i % 255}<{i}> with error 12, "
        f"opcode 0, len {i}, vendor err 129\n" for i in range(10**6))), VERDICTS, megabytes=300, seconds=60),
]


def make(case, folder):
    """Writes the case's input, and its standard input to folder/stdin; returns the arguments.

    In a process of its own: a child's largest resident set counts from its parent's.
    """
    def write():
        made = case.make(folder)
        arguments, stdin = made if isinstance(made, tuple) else (made, b"")
        (folder / "stdin").write_bytes(stdin)
        return arguments

    if case.make is fifo:
        return write()
    child = os.fork()
    if child == 0:
        try:
            (folder / "arguments").write_text(json.dumps(write()))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return json.loads((folder / "arguments").read_text())


def run(command, arguments, folder, seconds, user):
    """(exit status, negative for a signal, MB resident, seconds, what it printed)."""
    with tempfile.TemporaryFile() as out, open(folder / "stdin", "rb") as given:
        start = time.monotonic()
        child = subprocess.Popen([command, "verify", *arguments], cwd=folder, stdin=given, stdout=out,
                                 stderr=subprocess.STDOUT, user=user, group=user)
        timer = threading.Timer(seconds * 3, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - start
        out.seek(0)
        printed = out.read(2 * MB).decode("utf-8", "replace")
    return child.returncode, usage.ru_maxrss * 1024 / MB, took, printed


def differences(case, status, megabytes, seconds, printed):
    if status not in case.statuses:
        yield f"exit status {status}, not one of {sorted(case.statuses)}"
    if not printed.strip():
        yield "no message"
    if case.says not in printed:
        yield f"{case.says!r} is not named"
    if re.search(r"terminate called|std::|what\(\):|basic_string", printed):
        yield "an exception's own words"
    if "\0" in printed or re.search(r"[\x01-\x08\x0e-\x1f]", printed):
        yield "control characters in the output"
    if len(printed) > 200_000 and not printed.startswith("{"):
        yield f"{len(printed)} characters of output"
    if megabytes > case.megabytes:
        yield f"{megabytes:.0f} MB, more than {case.megabytes}"
    if seconds > case.seconds:
        yield f"{seconds:.1f} s, more than {case.seconds}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--show", action="store_true", help="print what each case printed")
    args = parser.parse_args()
    command = os.path.abspath(args.command)

    wrong = tried = 0
    for case in CASES:
        if args.only and case.name not in args.only:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            folder.chmod(0o755)
            arguments = make(case, folder)
            user = case.user if os.geteuid() == 0 else None
            for form in ([], ["--json"]):
                tried += 1
                status, megabytes, seconds, printed = run(
                    command, form + arguments, folder, case.seconds, user)
                bad = list(differences(case, status, megabytes, seconds, printed))
                wrong += bool(bad)
                print(f"{case.name:34} {'json' if form else 'text':5} exit {status!s:>4} "
                      f"{megabytes:7.0f} MB {seconds:6.2f} s  {'; '.join(bad) or 'ok'}")
                if args.show or (bad and args.only):
                    print("    " + printed[:1500].strip().replace("\n", "\n    "))
                if case.make is fifo:
                    break  # read once, and gone
    print(f"{tried} runs, {wrong} wrong")
    sys.exit(1 if wrong or not tried else 0)


if __name__ == "__main__":
    main()
