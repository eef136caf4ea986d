"""What happens to text between the tool that printed it and `rdmaguard verify`.

None of these may change the verdict. Each takes the files of a fixture (name -> bytes) and
returns what to write and what to pass: (name -> bytes, arguments, standard input or None).
"""
import gzip
import json
import re
import subprocess

import yaml

NCCL_PREFIX = re.compile(rb"([A-Za-z0-9][A-Za-z0-9._-]*):(\d+):\d+ (?:\[\d+\] )?")
# What a launcher or a log collector puts in front of a line: nobody adds it twice.
TAGGED = re.compile(
    rb"^\s*(?:\x1b\[[0-9;]*m)*(?:\xe2\x94\x82|\d+: |\[\d+,\d+\]<std|\[[a-z-]+\d+\]:|\([^)]*pid=|\[\d+\] |<?\d{4}-\d\d-\d\dT\S+ "
    rb"|\S+\s+\| |\S+\.(?:log|txt|out|err)[:-]|[\w.-]+: (?=[\w.-]+:\d+:\d+))",
    re.MULTILINE,
)


def lines_of(data):
    """The lines of `data`, each with its end, if it has one."""
    return re.findall(rb"[^\n]*\n|[^\n]+$", data)


def each_line(change):
    def transform(files):
        out = {}
        for name, data in files.items():
            change_one = change(name)
            out[name] = b"".join(change_one(line, i) for i, line in enumerate(lines_of(data)))
        return out, list(files), None

    return transform


def as_is(files):
    return files, list(files), None


def renamed(suffix, change):
    def transform(files):
        out = {name + suffix: change(data) for name, data in files.items()}
        return out, list(out), None

    return transform


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def crlf(files):
    out = {n: re.sub(rb"(?<!\r)\n", b"\r\n", d) for n, d in files.items()}
    return out, list(out), None


def pasted(files):
    text = b""
    for data in files.values():
        if text and not text.endswith(b"\n"):
            text += b"\n"
        text += data
    return {}, ["-"], text


def in_a_directory(files):
    return {"logs/" + n: d for n, d in files.items()}, ["logs"], None


def reversed_order(files):
    return files, list(files)[::-1], None


def byte_order_mark(files):
    return {n: b"\xef\xbb\xbf" + d for n, d in files.items()}, list(files), None


class Tasks:
    """Numbers the processes of a job in order of appearance, as a launcher would."""

    def __init__(self):
        self.numbers, self.last = {}, 0

    def of(self, line):
        m = NCCL_PREFIX.search(line)
        if m:
            self.last = self.numbers.setdefault(m.group(1, 2), len(self.numbers))
        return self.last


def tagged(form):
    """Puts `form`, with the number of the line's process in it, in front of each line."""

    def transform(files):
        tasks, out = Tasks(), {}
        for name, data in files.items():
            out[name] = b"".join(form % (tasks.of(l),) + l for l in lines_of(data))
        return out, list(files), None

    return transform


def cri(name):
    del name
    return lambda line, i: b"2025-03-04T05:%02d:%02d.%09dZ stdout F " % (
        i // 60 % 60, i % 60, i * 7919 % 10**9) + line


def kubectl_timestamps(name):
    del name
    return lambda line, i: b"2025-03-04T05:%02d:%02d.%09dZ " % (
        i // 60 % 60, i % 60, i * 7919 % 10**9) + line


def grep_name(name):
    return lambda line, i: name.encode() + b":" + line


def grep_name_and_number(name):
    return lambda line, i: b"%s:%d:" % (name.encode(), i + 1) + line


def coloured(name):
    del name

    def colour(line, i):
        del i
        text = line.rstrip(b"\r\n")
        if b"\x1b" in text:
            return line
        green = re.sub(rb"NCCL (?:INFO|WARN)", lambda m: b"\x1b[1;32m" + m[0] + b"\x1b[0m", text)
        return b"\x1b[36m" + green + b"\x1b[0m" + line[len(text):]

    return colour


def stamped(stamp):
    """A stamp of one shape before each line; %d are minute, second and a fraction."""

    def of(name):
        del name
        return lambda line, i: stamp % (i // 60 % 60, i % 60, i * 7919 % 10**6) + line

    return each_line(of)


def fixed(prefix):
    def of(name):
        del name
        return lambda line, i: prefix + line

    return each_line(of)


def indented(files):
    """As in a code block. Not where lines were left out: an indented "..." begins a fragment of a
    manifest."""
    if any(re.search(rb"^\.\.\.", d, re.MULTILINE) for d in files.values()):
        return None
    return {n: b"".join(b"    " + l for l in lines_of(d)) for n, d in files.items()}, list(files), None


def docker_json(name):
    """A container's log file as Docker's json-file driver keeps it: a line in a JSON object."""
    del name

    def wrap(line, i):
        return json.dumps({"log": line.decode("utf-8", "replace"), "stream": "stdout",
                           "time": f"2025-03-04T05:06:{i % 60:02}.000000001Z"}).encode() + b"\n"

    return wrap


def enclosed(before, after):
    """Text that stands in a message of a chat or a tracker; not for what was cut off."""

    def transform(files):
        if not all(d.endswith(b"\n") for d in files.values()):
            return None
        return {n: before + d + after for n, d in files.items()}, list(files), None

    return transform


# --- specs -------------------------------------------------------------------------------

class Refuses(yaml.CSafeLoader):
    """Takes only what means the same in YAML and in JSON: no key twice, no alias, no tag."""


def _mapping(loader, node, deep=False):
    keys = [loader.construct_object(k, deep=True) for k, _ in node.value]
    if len(keys) != len({str(k) for k in keys}):
        raise yaml.YAMLError("a key twice")
    return dict(zip(keys, (loader.construct_object(v, deep=True) for _, v in node.value)))


Refuses.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
Refuses.yaml_implicit_resolvers = {
    c: [(t, r) for t, r in rs if t != "tag:yaml.org,2002:timestamp"]
    for c, rs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(data):
    """The documents of a manifest that a program could have printed; None for any other."""
    if b"#" in data:
        return None  # what a comment says would be lost
    try:
        docs = [d for d in yaml.load_all(data, Loader=Refuses) if d is not None]
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    if not docs or not all(isinstance(d, dict) and "kind" in d for d in docs):
        return None
    return docs


def respelled(dump, suffix):
    """Writes each manifest with `dump`; nothing where one file is no plain manifest."""

    def transform(files):
        out = {}
        for name, data in files.items():
            docs = documents(data)
            if docs is None:
                return None
            text = dump(docs)
            if text is None:
                return None
            out[name.rsplit(".", 1)[0] + suffix] = text.encode()
        return out, list(out), None

    return transform


def as_list(docs):
    return {"apiVersion": "v1", "kind": "List", "items": docs}


def dump_json(docs):
    return json.dumps(docs[0] if len(docs) == 1 else as_list(docs), indent=4)


def dump_json_line(docs):
    return json.dumps(docs[0] if len(docs) == 1 else as_list(docs))


def dump_list(docs):
    if any(isinstance(d, dict) and d.get("kind") == "List" for d in docs):
        return None  # no List of Lists
    return yaml.safe_dump(as_list(docs), default_flow_style=False)


def dump_flow(docs):
    return yaml.safe_dump_all(docs, default_flow_style=True, width=10**6)


def dump_block(docs):
    return yaml.safe_dump_all(docs, default_flow_style=False, indent=4)


# --- the table -----------------------------------------------------------------------------
# name: (transformation, kinds of fixtures it happens to, whether it adds a launcher's tag)
ANY = ("log", "perf", "error", "port", "spec", "mixed")
PRINTED = ("log", "perf", "error")  # what a job prints, and so passes through a launcher

TRANSFORMATIONS = {
    "as-is": (as_is, ANY, False),
    "gzip": (renamed(".gz", lambda d: gzip.compress(d, mtime=0)), ANY, False),
    "zstd": (renamed(".zst", zstd), ANY, False),
    "crlf": (crlf, ANY, False),
    "byte-order-mark": (byte_order_mark, ANY, False),
    "pasted": (pasted, ANY, False),
    "directory": (in_a_directory, ANY, False),
    "reversed": (reversed_order, ANY, False),
    "slurm-tag": (tagged(b"%d: "), PRINTED, True),
    "mpirun-tag": (tagged(b"[1,%d]<stdout>:"), PRINTED, True),
    "mpirun-stderr-tag": (tagged(b"[1,%d]<stderr>: "), PRINTED, True),
    "torchrun-tag": (tagged(b"[default%d]:"), PRINTED, True),
    "ray-tag": (tagged(b"(RayTrainWorker pid=4711, ip=198.51.100.%d) "), PRINTED, True),
    "compose-tag": (tagged(b"worker-%d  | "), PRINTED, True),
    "cri": (each_line(cri), PRINTED, True),
    "kubectl-timestamps": (each_line(kubectl_timestamps), PRINTED, True),
    "grep-name": (each_line(grep_name), PRINTED, True),
    "grep-number": (each_line(grep_name_and_number), PRINTED, True),
    "colour": (each_line(coloured), PRINTED, True),
    "rank-tag": (tagged(b"[rank%d]: "), PRINTED, True),
    "pod-tag": (tagged(b"[pod/job-worker-%d/main] "), PRINTED, True),
    "pdsh-tag": (tagged(b"host-%d: "), PRINTED, True),
    "ray-colour-tag": (tagged(b"\x1b[36m(RayTrainWorker pid=4711, ip=198.51.100.%d)\x1b[0m "),
                       PRINTED, True),
    "ci-stamp": (stamped(b"2025-03-04T05:%02d:%02d.%06d0Z "), PRINTED, True),
    "syslog": (stamped(b"Mar  4 05:%02d:%02d login-1 slurmstepd[%d]: "), PRINTED, True),
    "date-stamp": (stamped(b"[2025-03-04 05:%02d:%02d.%06d] "), PRINTED, True),
    "docker-json": (each_line(docker_json), PRINTED, True),
    "quoted": (fixed(b"> "), PRINTED, True),
    "quoted-twice": (fixed(b"> > "), PRINTED, True),
    "indented": (indented, ANY, False),
    "fenced": (enclosed(b"Here is what I see:\n\n```\n", b"```\nAny idea?\n"), ANY, False),
    "prompt": (enclosed(b"user@login-1:~$ cat it\n", b"user@login-1:~$ \n"), ANY, False),
    "json": (respelled(dump_json, ".json"), ("spec",), False),
    "json-line": (respelled(dump_json_line, ".json"), ("spec",), False),
    "list": (respelled(dump_list, ".yaml"), ("spec",), False),
    "flow": (respelled(dump_flow, ".yaml"), ("spec",), False),
    "block": (respelled(dump_block, ".yaml"), ("spec",), False),
}


# A paste has no files, and so loses what is told by which file says it.
ONLY_BY_FILES = {
    "pasted": {"onset-one-pod", "onset-several-nodes", "nccl-test-passed-same-nodes",
               "nccl-test-failed-same-nodes"},
}


def applies(transformation, kind, files):
    _, kinds, tags = TRANSFORMATIONS[transformation]
    if kind not in kinds:
        return False
    # A program writes its JSON into a file, a terminal draws its box around all of it, and what a
    # shell shows passes no launcher.
    return not (tags and any(
        name.endswith((".json", ".jsonl")) or TAGGED.search(data) or data.startswith(b"$ ulimit")
        for name, data in files.items()))
