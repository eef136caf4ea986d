#!/usr/bin/env python3
"""Compares include/nccl_abi with NCCL itself, name by name; ctest runs it, people may too.

  compare.py source    NCCL source trees (NCCL_SRC, ':' between several): every struct, field,
                       signature, enumerator and macro, both sides measured by the C++ compiler
  compare.py public    nccl.h of NCCL_HOME and of every release in RDMAGUARD_NCCL_DIR: its enums
  compare.py library   libnccl.so.2 of those releases: structs and enums from its debug
                       information, the interface versions it looks up, the type names it gives out

Exit status: 0 equal, 1 a difference (each is printed), 77 nothing to compare with (and it says so).
--mutate FILE:OLD:NEW changes a copy of our headers first, stops at the first subject and turns the
status round, which proves that the comparison can fail.
"""

import argparse
import mmap
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import layout_table as table

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
PROFILERS = range(1, 8)
NETS = range(6, 13)

# Neither NCCL's nor CUDA's: just enough names for nccl.h to compile where CUDA is not installed.
# Nothing that is measured contains a CUDA type by value.
CUDA_STAND_IN = {
    "cuda_runtime.h": "#pragma once\n"
                      "#include <stddef.h>\n"
                      "struct CUstream_st;\n"
                      "struct CUevent_st;\n"
                      "typedef struct CUstream_st* cudaStream_t;\n"
                      "typedef struct CUevent_st* cudaEvent_t;\n"
                      "typedef int cudaError_t;\n",
    "cuda_fp16.h": "#pragma once\n",
    "cuda_bf16.h": "#pragma once\n",
    "cuda_fp8.h": "#pragma once\n",
}


class Broken(Exception):
    """The comparison itself could not be made."""


def run(command, **keywords):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    if done.returncode != 0:
        raise Broken(f"{' '.join(map(str, command[:6]))} ...: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def parse_lines(text):
    rows = {}
    for line in text.splitlines():
        label, _, value = line.partition(" ")
        rows[label] = value
    return rows


def label_of(ours):
    return ours.replace("::", ".")


def compiled(cxx, work, name, flags, body):
    """Builds and runs one measuring program; returns its label -> value lines."""
    source = work / f"{name}.cc"
    source.write_text(body)
    program = work / name
    run([cxx, "-std=c++20", "-w", f"-I{HERE}", *flags, str(source), "-o", str(program)])
    return parse_lines(run([str(program)]))


def measuring_main(structs, types, values):
    lines = ["int main() {"]
    for label, name, fields in structs:
        lines.append(f'MEASURE_SIZE("{label}", {name});')
        lines += [f'MEASURE_FIELD("{label}.{field}", {name}, {field});' for field in fields]
    lines += [f'MEASURE_TYPE("{label}", {name});' for label, name in types]
    lines += [f'MEASURE_VALUE("{label}", {name});' for label, name in values]
    return "\n".join(lines) + "\n}\n"


def measure_ours(cxx, work, include):
    """Everything the table names, from our headers; also the release rows and type names."""
    structs = [row for v in PROFILERS for row in table.profiler_structs(v)]
    structs += [row for v in NETS for row in table.net_structs(v)]
    enums = [row for group, _ in table.PUBLIC_ENUMS + table.INTERNAL_ENUMS for row in group]
    names = sorted({row[0] for row in enums + table.MACROS})
    headers = [f"profiler_v{v}.h" for v in PROFILERS] + [f"net_v{v}.h" for v in NETS]
    body = "".join(f'#include "nccl_abi/{header}"\n' for header in headers)
    body += '#include "nccl_abi/releases.h"\n#include "measure.h"\n'
    body += measuring_main(
        [(label_of(ours), table.OURS + ours, fields) for ours, _, fields in structs],
        [(label_of(ours), table.OURS + ours) for ours, _ in table.callbacks((9, 9))],
        [(label_of(ours), table.OURS + ours) for ours in names])
    body = body[:body.rindex("}")] + """
for (const auto& r : nccl_abi::kReleases) {
  std::printf("release.%d.%d net=%d oldestNet=%d profiler=%d verified=%d\\n", r.first / 10000,
              r.first / 100 % 100, r.net, r.oldestNet, r.profiler, r.verified);
}
for (const auto& t : nccl_abi::kDataTypes) {
  std::printf("type.%d %s\\n", static_cast<int>(t.type), std::string(t.name).c_str());
}
}
"""
    return compiled(cxx, work, "ours", [f"-I{include}"], body)


def release_row(ours, release):
    text = ours.get(f"release.{release[0]}.{release[1]}")
    if text is None:
        return None
    return {key: int(value) for key, value in (word.split("=") for word in text.split())}


def due(rows, release):
    return [(ours, theirs) for ours, theirs, since in rows if since <= release]


def expected_structs(ours, release):
    """The structs a release must have, by our own release table."""
    row = release_row(ours, release)
    if row is None:
        raise Broken(f"releases.h has no row for {release[0]}.{release[1]}")
    structs = [r for v in PROFILERS if v <= row["profiler"] for r in table.profiler_structs(v)]
    return structs + [r for v in NETS if v <= row["net"] for r in table.net_structs(v)]


def unstated(text, groups, release):
    """Enumerators in NCCL's preprocessed text that our table does not name."""
    found = []
    bodies = [re.sub(r"\s", "", b) for b in re.findall(r"enum\s*\w*\s*\{([^}]*)\}", text)]
    for group, ignored in groups:
        rows = due(group, release)
        if not rows:
            continue
        marker = rows[0][1]
        known = {theirs for _, theirs, _ in group} | ignored
        for body in bodies:
            names = [item.split("=")[0] for item in body.split(",") if item]
            if marker in names:
                found += [name for name in names if name not in known]
    return found


def differences(ours, theirs):
    """Lines for every measured label that ours has otherwise; `label@name` names NCCL's alias."""
    wrong = []
    for label, value in theirs.items():
        name, _, alias = label.partition("@")
        if ours.get(name) != value:
            wrong.append(f"{name}: ours {ours.get(name, 'missing')}, NCCL's {value} {alias}".rstrip())
    return wrong


def stand_in(work):
    folder = work / "cuda-stand-in"
    folder.mkdir(exist_ok=True)
    for name, text in CUDA_STAND_IN.items():
        (folder / name).write_text(text)
    return folder


# The macro lets releases before 2.24 show ncclBfloat16.
PUBLIC_FLAGS = ["-D__CUDA_BF16_TYPES_EXIST__", "-DNCCL_OS_LINUX"]


def compare_source(cxx, work, ours, tree):
    text = (tree / "makefiles" / "version.mk").read_text()
    numbers = {key: int(value) for key, value in
               re.findall(r"NCCL_(MAJOR|MINOR|PATCH)\s*:=\s*(\d+)", text)}
    release = (numbers["MAJOR"], numbers["MINOR"], numbers["PATCH"])
    public = work / "public"
    public.mkdir(exist_ok=True)
    header = (tree / "src" / "nccl.h.in").read_text()
    code = numbers["MAJOR"] * 10000 + numbers["MINOR"] * 100 + numbers["PATCH"]
    for key, value in {"Major": numbers["MAJOR"], "Minor": numbers["MINOR"],
                       "Patch": numbers["PATCH"], "Suffix": "", "Version": code}.items():
        header = header.replace("${nccl:%s}" % key, str(value))
    (public / "nccl.h").write_text(header)
    include = tree / "src" / "include"
    flags = [f"-I{public}", f"-I{stand_in(work)}", f"-I{include}", f"-I{include / 'plugin'}",
             *PUBLIC_FLAGS]
    prologue = "#include <cstdint>\n#include <sys/types.h>\n#include \"nccl_net.h\"\n"
    if release >= (2, 23):
        prologue += "#include \"nccl_profiler.h\"\n"
    prologue += "#include \"measure.h\"\n"

    structs = [(label_of(o), t, f) for o, t, f in expected_structs(ours, release)]
    groups = table.PUBLIC_ENUMS + table.INTERNAL_ENUMS
    values = [(f"{label_of(o)}@{t}", t) for group, _ in groups for o, t in due(group, release)]
    values += [(f"{label_of(o)}@{t}", t) for o, t in due(table.MACROS, release)]
    types = [(label_of(o), t) for o, t in table.callbacks(release)]
    body = prologue + measuring_main(structs, types, values)
    theirs = compiled(cxx, work, "theirs", flags, body)
    wrong = differences(ours, theirs)
    (work / "text.cc").write_text(prologue)
    preprocessed = run([cxx, "-std=c++20", "-E", "-P", f"-I{HERE}", *flags, str(work / "text.cc")])
    wrong += [f"{name}: in NCCL's enum, not stated by us"
              for name in unstated(preprocessed, groups, release)]
    row = release_row(ours, release)
    for kind, newest in (("ncclNet", row["net"]), ("ncclProfiler", row["profiler"])):
        found = {int(v) for v in re.findall(rf"\b{kind}_v(\d+)_t\b", preprocessed)}
        if max(found, default=0) != newest:
            wrong.append(f"releases.h: {kind} v{newest}, the tree has v{max(found, default=0)}")
    return len(theirs), wrong


def version_of(header):
    text = header.read_text()
    return tuple(int(re.search(rf"#define NCCL_{key} (\d+)", text).group(1))
                 for key in ("MAJOR", "MINOR", "PATCH"))


def compare_public(cxx, work, ours, header):
    release = version_of(header)
    flags = [f"-I{header.parent}", f"-I{stand_in(work)}", *PUBLIC_FLAGS]
    values = [(f"{label_of(o)}@{t}", t) for group, _ in table.PUBLIC_ENUMS
              for o, t in due(group, release)]
    prologue = "#include \"nccl.h\"\n#include \"measure.h\"\n"
    body = prologue + measuring_main([], [], values)
    theirs = compiled(cxx, work, "public_theirs", flags, body)
    wrong = differences(ours, theirs)
    (work / "text.cc").write_text(prologue)
    preprocessed = run([cxx, "-std=c++20", "-E", "-P", f"-I{HERE}", *flags, str(work / "text.cc")])
    wrong += [f"{name}: in NCCL's enum, not stated by us"
              for name in unstated(preprocessed, table.PUBLIC_ENUMS, release)]
    return len(theirs), wrong


NAMES_OF_TYPES = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
maps = open("/proc/self/maps")
base = min(int(line.split("-")[0], 16) for line in maps if "libnccl.so" in line)
name = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)(base + int(sys.argv[2], 16))
for number in range(12):
    print(number, name(number).decode())
"""


def names_of_types(library, ours):
    """Asks the library's own table for the name of every element type."""
    symbols = run(["nm", str(library)])
    found = re.search(r"^([0-9a-f]+) \w \w*ncclDatatypeToString\w*$", symbols, re.M)
    if not found:
        return 0, []
    said = parse_lines(run([sys.executable, "-c", NAMES_OF_TYPES, str(library), found.group(1)]))
    # 1 is Uint8, which NCCL has no name for; 10 and 11 came with 2.24.
    wrong = [f"type {number}: ours {ours['type.' + number]}, NCCL says {name}"
             for number, name in said.items()
             if name != ours["type." + number] and not (name == "Unknown" and number in
                                                        ("1", "10", "11"))]
    if said["1"] != "Unknown":
        wrong.append(f"type 1: types.h says NCCL has no name for Uint8, NCCL says {said['1']}")
    return len(said), wrong


def compare_library(work, ours, library, release):
    structs = [(label_of(o), t, f) for o, t, f in expected_structs(ours, release)]
    groups = table.PUBLIC_ENUMS + table.INTERNAL_ENUMS
    row = release_row(ours, release)
    asked = []
    for label, name, fields in structs:
        asked.append((f"{label}.size", f"(long)sizeof({name})"))
        for field in fields:
            at = f"(({name}*)0)->{field}"
            asked.append((f"{label}.{field}.offset", f"(long)&{at}"))
            asked.append((f"{label}.{field}.bytes", f"(long)sizeof({at})"))
    asked += [(f"{label_of(o)}@{t}", f"(long){t}") for g, _ in groups for o, t in due(g, release)]
    # An own transport's struct has the size of the version that releases.h names, and that name.
    newest = f"ncclNet_v{row['net']}_t"
    asked += [(f"net_v{row['net']}.Net.size@ncclNetIb", "(long)sizeof(ncclNetIb)"),
              (f"net_v{row['net']}.Net.size@ncclNetSocket", "(long)sizeof(ncclNetSocket)")]
    script = work / "ask.py"
    script.write_text(
        "import gdb\n"
        "def ask(label, expression):\n"
        "    try:\n"
        "        print(label, int(gdb.parse_and_eval(expression)))\n"
        "    except gdb.error as error:\n"
        "        print(label, 'absent:', error)\n"
        + "".join(f"ask({label!r}, {expression!r})\n" for label, expression in asked)
        + "gdb.execute('whatis ncclNet_t')\n")
    said = run(["gdb", "-nx", "-batch", "-x", str(script), str(library)])
    theirs = {k: v for k, v in parse_lines(said).items() if k in dict(asked)}
    if len(theirs) != len(asked):
        raise Broken(f"gdb answered {len(theirs)} of {len(asked)} questions about {library}")
    if all(value.startswith("absent") for value in theirs.values()):
        return None
    wrong = differences(ours, theirs)
    if f"type = {newest}" not in said:
        wrong.append(f"releases.h: ncclNet_t should be {newest}")
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        for symbol, low, high in (("ncclNetPlugin", row["oldestNet"], row["net"]),
                                  ("ncclProfiler", 1, row["profiler"])):
            # Adjacent strings share the zero between them.
            found = {int(v) for v in re.findall(rb"\0%s_v(\d+)(?=\0)" % symbol.encode(), data)}
            if found != set(range(low, high + 1)):
                wrong.append(f"releases.h: {symbol} v{low} to v{high}, the library has "
                             f"{sorted(found)}")
    count, more = names_of_types(library, ours)
    return len(theirs) + count, wrong + more


def releases_here():
    default = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    store = pathlib.Path(os.environ.get("RDMAGUARD_NCCL_DIR") or default / "rdmaguard" / "nccl")
    found = [p for p in store.glob("*/nvidia/nccl") if (p / "include" / "nccl.h").exists()]
    found.sort(key=lambda p: [int(n) for n in p.parts[-3].split(".") if n.isdigit()])
    home = os.environ.get("NCCL_HOME")
    if home and (pathlib.Path(home) / "include" / "nccl.h").exists():
        found.append(pathlib.Path(home))
    return found, store


def mutated(work, include, change):
    """A copy of our headers with one fact changed and their own static_asserts taken out."""
    name, old, new = change.split(":")
    copy = work / "mutated"
    shutil.copytree(include, copy)
    target = copy / "nccl_abi" / name
    text = target.read_text()
    if old not in text:
        raise Broken(f"{name} does not contain '{old}'")
    target.write_text(text.replace(old, new, 1))
    (copy / "nccl_abi" / "layout.h").write_text(
        "#pragma once\n#include <cstddef>\n"
        "#define NCCL_ABI_SIZE(struct_, bytes) static_assert(true)\n"
        "#define NCCL_ABI_AT(struct_, member, offset) static_assert(true)\n")
    return copy


def compare_all(options, work, include):
    """Runs one mode; returns (things compared, differences)."""
    ours = measure_ours(options.cxx, work, include)
    subjects, wrong = 0, []

    def report(name, result):
        nonlocal subjects
        if result is None:
            print(f"{name}: not compared, it has no debug information")
            return
        count, found = result
        subjects += 1
        wrong.extend(f"{name}: {line}" for line in found)
        print(f"{name}: {count} values compared, {len(found)} differ")

    if options.mode == "source":
        for tree in filter(None, os.environ.get("NCCL_SRC", "").split(":")):
            report(tree, compare_source(options.cxx, work, ours, pathlib.Path(tree)))
            if options.mutate:
                break  # one witness is enough
    else:
        for home in releases_here()[0]:
            header, library = home / "include" / "nccl.h", home / "lib" / "libnccl.so.2"
            if options.mode == "public":
                report(str(header), compare_public(options.cxx, work, ours, header))
            elif library.exists():
                report(str(library), compare_library(work, ours, library, version_of(header)))
            if options.mutate and subjects:
                break
    return subjects, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=["source", "public", "library"])
    parser.add_argument("--include", default=str(HERE.parent.parent / "include"))
    parser.add_argument("--cxx", default=os.environ.get("CXX") or "g++")
    parser.add_argument("--mutate", metavar="FILE:OLD:NEW")
    options = parser.parse_args()
    if options.mode == "library" and not (shutil.which("gdb") and shutil.which("nm")):
        print("not compared: gdb or nm is not installed, so debug information cannot be read")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="rdmaguard-abi-") as folder:
        work = pathlib.Path(folder)
        include = pathlib.Path(options.include)
        try:
            if options.mutate:
                include = mutated(work, include, options.mutate)
            subjects, wrong = compare_all(options, work, include)
        except Broken as broken:
            print(f"the comparison could not be made: {broken}")
            return 1
    for line in wrong:
        print(f"DIFFERS {line}")
    if subjects == 0:
        print("not compared: " + ("NCCL_SRC names no NCCL source tree, so the plugin interfaces "
                                  "were not compared with its headers" if options.mode == "source"
                                  else f"no NCCL release that can be read in {releases_here()[1]} "
                                  "nor in NCCL_HOME"))
        return SKIPPED
    if options.mutate:
        print("a changed fact was " + ("found" if wrong else "NOT FOUND"))
        return 0 if wrong else 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
