#!/usr/bin/env python3
"""Runs one program through `tilewright check` and compares what it finds, as an exact set, with the comments
of its source:

    // expect: race-shared line=21 line=23     the source lines of its sites, in any order
    // expect: race-shared @store @load        the same, lines marked by `// @store` at their end
    // allow: uninit-shared line=23            may be found (depends on the order of warps)
    // expect: none

Findings that differ only in instruction, lanes or severity count as one. With --twin the program is compiled with
-DTWIN, and nothing may be found.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def expectations(path):
    lines = open(path, encoding="utf-8").read().splitlines()
    marks = {}
    for number, line in enumerate(lines, 1):
        for mark in re.findall(r"// @(\w+)\s*$", line):
            marks.setdefault(mark, []).append(number)
    expected, allowed = set(), set()
    for line in lines:
        m = re.match(r"//\s*(expect|allow):\s*(.*)$", line)
        if not m or m.group(2).strip() == "none":
            continue
        words = m.group(2).split()
        numbers = []
        for word in words[1:]:
            if word.startswith("line="):
                numbers.append(int(word[5:]))
            else:
                if len(marks.get(word[1:], [])) != 1:
                    sys.exit(f"{path}: '{word}' does not mark exactly one line")
                numbers.append(marks[word[1:]][0])
        (expected if m.group(1) == "expect" else allowed).add((words[0], tuple(sorted(numbers))))
    return expected, allowed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilewright", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--nvcc", default="")
    arguments = parser.parse_args()
    expected, allowed = (set(), set()) if arguments.twin else expectations(arguments.source)
    name = os.path.basename(arguments.source)
    flags = (arguments.nvcc + (" -DTWIN" if arguments.twin else "")).strip()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "findings.json")
        command = [arguments.tilewright, "check", arguments.source, "--threads", arguments.threads, "--json", out, "--error-exitcode", "77"]
        if flags:
            command += ["--nvcc", flags]
        run = subprocess.run(command, capture_output=True, text=True)
        text = f"{' '.join(command)}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"
        if not os.path.exists(out):
            sys.exit(text)
        report = json.load(open(out, encoding="utf-8"))
    found = set()
    for finding in report["findings"]:
        numbers = tuple(sorted(site["line"] for site in finding["sites"] if os.path.basename(site["file"]) == name))
        if len(numbers) != len(finding["sites"]):
            sys.exit(f"a finding lies outside of {name}: {finding}\n{text}")
        found.add((finding["kind"], numbers))
    problems = [f"not found: {f}" for f in sorted(expected - found)] + [f"found, but not expected: {f}" for f in sorted(found - expected - allowed)]
    serious = any(f["severity"] != "note" for f in report["findings"])
    if serious != (run.returncode == 77):
        problems.append("the exit status does not fit the findings")
    if report["checked"]["launches"] == 0:
        problems.append("nothing was checked")
    if problems:
        sys.exit("\n".join(problems) + "\n" + text)


main()
