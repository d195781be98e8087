#!/usr/bin/env python3
"""The launch timer of `profile --measure`, with and without a GPU.

usage: check_measure.py TILEWRIGHT NVCC PROGRAM.cu

1. In front of Tilewright's own runtime it must time every launch of the program: as many lines as the profile
   has launches, with the same kernels, grids and blocks, in the same order, and a positive time.
2. `profile --measure`: where there is a GPU every kernel has a measured time; where there is none the report says
   why, nothing is measured, and the exit status is the program's own.
"""
import json
import os
import subprocess
import sys
import tempfile

tilewright, nvcc, source = sys.argv[1:]
libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(tilewright))), "lib")


def profile(program, folder, extra):
    path = os.path.join(folder, "profile.json")
    done = subprocess.run([tilewright, "profile", program, "--json", path] + extra + ["--", "--no-time"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}:\n{done.stdout}")
    with open(path, encoding="utf-8") as file:
        return json.load(file), done.stdout


def runtime_of(program):
    with open(program, "rb") as file:
        return "libcudart.so.13" if b"libcudart.so.13" in file.read() else "libcudart.so.12"


with tempfile.TemporaryDirectory() as folder:
    times = os.path.join(folder, "times")
    program = os.path.join(folder, "program")
    subprocess.run([nvcc, "-arch=compute_90", "-cudart", "shared", "-o", program, source], check=True)
    report, _ = profile(program, folder, [])
    preload = ":".join(os.path.join(libraries, name) for name in ("liblaunch_timer.so", runtime_of(program)))
    subprocess.run([program, "--no-time"], env={**os.environ, "LD_PRELOAD": preload, "TILEWRIGHT_TIMES": times}, stdout=subprocess.DEVNULL,
                   check=True)
    with open(times, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    names = {k["kernel"]: k["mangled"] for k in report["kernels"]}
    expected = [[names[l["kernel"]], l["grid"], l["block"]] for l in report["launches"]]
    timed = [[line[0], [int(n) for n in line[1].split()], [int(n) for n in line[2].split()]] for line in lines]
    if not expected or timed != expected:
        sys.exit(f"launched {expected}\ntimed {timed}")
    if not all(float(line[3]) > 0 for line in lines):
        sys.exit(f"times that are not positive: {lines}")

    report, text = profile(program, folder, ["--measure"])
    measured = [k["measured_seconds"] for k in report["kernels"]]
    if report["measured_on"] is None:
        if any(m is not None for m in measured) or "Not measured: no GPU here" not in text or "no GPU here" not in report["measured_note"]:
            sys.exit(f"no GPU, but: {measured}\n{text}")
        print("no GPU here; the report says so")
    else:
        if not all(m and m > 0 for m in measured) or "Measured on " + report["measured_on"] not in text:
            sys.exit(f"on {report['measured_on']}: {measured}\n{text}")
        print(f"measured on {report['measured_on']}: {measured}")
