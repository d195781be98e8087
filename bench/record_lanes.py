#!/usr/bin/env python3
"""Runs bench/lanes on every vector instruction set that this machine has and writes the rates.

    bench/record_lanes.py [BUILD] [OUTPUT]

BUILD is build/release, OUTPUT bench/results/lanes-cpu.json if not given. The instruction sets take turns, so that a busy
machine slows all of them alike; of three runs the best counts, in CPU time. Standard library only.
Read by bench/render_tables.py (docs/speed.md).
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = 3


def run(program, instruction_set):
    environment = dict(os.environ, TILEWRIGHT_TARGET=instruction_set)
    arguments = [program, "--benchmark_min_time=0.01", "--benchmark_format=json"]
    result = subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True)
    return {b["name"]: b["items_per_second"] / 1e9 for b in json.loads(result.stdout)["benchmarks"]}


def group(name):
    """The group of an instruction and the rate that it should reach, in G lane-instructions a second."""
    spelling = name.removeprefix("table/").removesuffix("/masked")
    words = spelling.split(".")
    if words[0] in ("ld", "st"):
        return "loads and stores, scattered", 0.5
    if words[0] in ("atom", "red"):
        return "atomics", 0.2
    if words[0] in ("div", "rem") and words[1][0] in "us":
        return "integer division", 0.5
    if words[0] == "cvt":
        return "conversions", 2.0
    if words[0] in ("set", "setp", "slct", "selp", "testp"):
        return "comparison and selection", 2.0
    if re.search(r"\.(f16|bf16)(x2)?$", spelling):
        return "arithmetic of halves", 2.0
    if words[-1] in ("f32", "f64"):
        return "floating-point arithmetic", 2.0
    return "integer arithmetic and logic", 2.0


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main(arguments):
    build = pathlib.Path(arguments[0]) if arguments else ROOT / "build/release"
    output = pathlib.Path(arguments[1]) if len(arguments) > 1 else ROOT / "bench/results/lanes-cpu.json"
    program = str(build / "bench/lanes")
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    sets = [name for name, flag in (("avx2", " avx2 "), ("avx512", " avx512bw ")) if flag in flags]
    compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", (build / "CMakeCache.txt").read_text()).group(1)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    rates = {name: {} for name in sets}
    for _ in range(RUNS):
        for name in sets:
            for key, rate in run(program, name).items():
                rates[name][key] = max(rate, rates[name].get(key, 0))
    rows = []
    for key in rates[sets[0]]:
        kind, target = group(key)
        rows.append({"name": key, "group": kind, "target": target, **{n: round(rates[n][key], 3) for n in sets}})
    date = datetime.date.today().isoformat()
    data = {"machine": f"{processor()}, one thread; {version}; {date}", "instruction_sets": sets, "rows": rows}
    output.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
