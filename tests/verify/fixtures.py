#!/usr/bin/env python3
"""`rdmaguard verify --json` against the truths of tests/fixtures.

usage: fixtures.py COMMAND FIXTURES SCHEMA [--transformation NAME]... [--only ID]...

Each fixture is judged as it is and held against its truth.yaml; with a transformation (gzip,
CRLF, a launcher's tag: transformations.py) it must give the verdict that it gives as it is.
Every answer must be valid by SCHEMA. Prints a row for each difference; exit status 1 if any.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import yaml

import transformations

LISTS = ("causes", "missing_conditions", "degraded_signals", "notes")
TIME_LIMIT_S = 120


class Answer:
    def __init__(self, status, output, errors):
        self.status, self.errors = status, errors
        self.output = output
        try:
            self.verdict = json.loads(output)
        except ValueError:
            self.verdict = None

    def ids(self):
        """All ids of the answer, also those a finding is known under besides."""
        found = set()
        for part in LISTS:
            for f in self.verdict.get(part, []):
                found.add(f["id"])
                also = f.get("also", [])
                found.update([also] if isinstance(also, str) else also)
        return found

    def busbw(self):
        return [
            (b.get("op"), "avg" if b.get("avg") else b.get("size_bytes"), round(b["gbps"], 4))
            for b in self.verdict.get("busbw", [])
        ]

    def summary(self):
        """What a transformation must not change."""
        return {
            **{f: self.verdict[f] for f in ("rdma_engaged", "transport", "gdr")},
            "exit_code": self.status,
            "ids": sorted(self.ids()),
            "busbw": sorted(self.busbw(), key=str),
        }


def ask(command, folder, files, arguments, stdin):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    done = subprocess.run(
        [command, "verify", "--json", *arguments], cwd=folder, input=stdin or b"",
        capture_output=True, timeout=TIME_LIMIT_S, check=False)
    return Answer(done.returncode, done.stdout.decode("utf-8", "replace"),
                  done.stderr.decode("utf-8", "replace"))


def rows(*differences):
    return [d for d in differences if d[1] != d[2]]


def same_operation(a, b):
    return str(a).lower().replace("_", "") == str(b).lower().replace("_", "")


def against_truth(answer, truth):
    """(field, want, got) of each field that differs from the truth."""
    bad = []
    for field in ("rdma_engaged", "transport", "gdr"):
        want, got = str(truth[field]), str(answer.verdict.get(field))
        # PyYAML reads a bare yes and no as booleans.
        want = {"True": "yes", "False": "no"}.get(want, want)
        if want != "n/a" and want.lower() != got.lower():
            bad.append((field, want, got))
    if truth["exit_code"] != answer.status:
        bad.append(("exit_code", truth["exit_code"], answer.status))
    ids = answer.ids()
    for field in ("causes", "missing_conditions", "degraded", "notes"):
        for want in truth.get(field) or []:
            if want not in ids:
                bad.append((field, want, " ".join(sorted(ids))))
    for want in truth.get("busbw") or []:
        size = "avg" if want.get("avg") else want["size_bytes"]
        near = 0.02 * max(1.0, want["gbps"])
        if not any(same_operation(op, want["op"]) and s == size and abs(g - want["gbps"]) < near
                   for op, s, g in answer.busbw()):
            bad.append(("busbw", (want["op"], size, want["gbps"]), answer.busbw()[:4]))
    return bad


def well_formed(answer, schema):
    if answer.verdict is None:
        return [("json", "a verdict", f"exit status {answer.status}: {answer.errors.strip()[:200]}")]
    return [("schema", "/".join(map(str, e.absolute_path)), e.message[:200])
            for e in schema.iter_errors(answer.verdict)]


# Truths that the same evidence contradicts elsewhere: "Libfabric" is the name that the log shows
# (as in e-libfabric-short-name), IBext_v8 printed no device list (as in x-ibext-v6-gdr-both-ends),
# and the only channel line of the last one carries /GDRDMA.
DISPUTED = {"err-efa-handshake-rc103", "err-plugin-oob-connect-abort",
            "seed-allreduce-ok-alltoall-fails"}


class Fixture:
    def __init__(self, folder):
        self.id = folder.name
        self.truth = yaml.load((folder / "truth.yaml").read_text(), Loader=yaml.CSafeLoader)
        self.files = {str(n): (folder / str(n)).read_bytes() for n in self.truth["files"]}
        self.held_to_truth = self.id not in DISPUTED


def check(command, fixture, transformation, schema):
    """The differences of one fixture under one transformation; None where it does not apply."""
    change = transformations.TRANSFORMATIONS[transformation][0]
    if not transformations.applies(transformation, fixture.truth["kind"], fixture.files):
        return None
    changed = change(fixture.files)
    if changed is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        answer = ask(command, pathlib.Path(folder), *changed)
    bad = well_formed(answer, schema)
    if answer.verdict is None:
        return bad
    with tempfile.TemporaryDirectory() as folder:
        plain = ask(command, pathlib.Path(folder), *transformations.as_is(fixture.files))
    if transformation == "as-is":
        if fixture.held_to_truth:
            bad += against_truth(answer, fixture.truth)
        return bad + rows(("the same twice", plain.output, answer.output))
    if plain.verdict is None:
        return bad
    want, got = plain.summary(), answer.summary()
    for field in want:
        if field == "ids":
            lost = (set(want[field]) - set(got[field])
                    - transformations.ONLY_BY_FILES.get(transformation, set()))
            bad += rows(("ids lost", "", " ".join(sorted(lost))),
                        ("ids added", "", " ".join(sorted(set(got[field]) - set(want[field])))))
        else:
            bad += rows((field, want[field], got[field]))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("fixtures", type=pathlib.Path)
    parser.add_argument("schema", type=pathlib.Path)
    parser.add_argument("--transformation", action="append",
                        choices=transformations.TRANSFORMATIONS, metavar="NAME")
    parser.add_argument("--only", action="append", metavar="ID")
    args = parser.parse_args()

    description = json.loads(args.schema.read_text())
    kind = jsonschema.validators.validator_for(description)
    kind.check_schema(description)
    schema = kind(description)

    fixtures = [Fixture(p.parent) for p in sorted(args.fixtures.glob("*/truth.yaml"))
                if not args.only or p.parent.name in args.only]
    jobs = [(f, t) for t in args.transformation or transformations.TRANSFORMATIONS for f in fixtures]
    command = os.path.abspath(args.command)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda j: check(command, j[0], j[1], schema), jobs))

    tried = [(f, t, bad) for (f, t), bad in zip(jobs, results) if bad is not None]
    for fixture, transformation, bad in tried:
        for field, want, got in bad:
            print(f"{fixture.id:42} {transformation:18} {field:18} want {want!r:30} got {got!r}")
    wrong = sum(1 for _, _, bad in tried if bad)
    free = [f.id for f in fixtures if not f.held_to_truth]
    if free:
        print(f"not held to their truths: {len(free)} of {len(fixtures)} fixtures, disputed")
    print(f"{len(tried)} cases, {wrong} differ")
    sys.exit(1 if wrong or not tried else 0)


if __name__ == "__main__":
    main()
