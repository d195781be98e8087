#!/usr/bin/env python3
"""Runs one program through `tilewright check` and compares what it finds, as an exact set, with the comments
of its source.

A lesson is a program of its own, with or without a hazard:

    // expect: error race-shared line=21 line=23     the source lines of its sites, in any order
    // allow: error uninit-shared line=23            may be found (depends on the order of warps)
    // expect: none

A planted file (--planted) holds many cases, each with its silent twin (planted.h). It is compiled as usual (PTX by -O3) and
with -G, and each of these programs runs as `bug` and as `twin`, on one thread and on two, and with the handlers of AVX2 where
the machine would use those of AVX-512:

    // expect: scan: error race-shared @read @write            case: severity kind, lines marked by `// @read`
    // expect: twice: error invalid-free @b freed=@a           `@a` is among the calls of the site with this role
    // allow: scan: error uninit-shared @read                  may be found
    // options: --leak-check full                              of tilewright check
    // alone: reads_result writes_input                        cases that end the program: run one by one
    // not-G: other_half                                       cases that are left out under -G (docs: limits)
    // hidden: finisher                                        found with the file's options only: without them nothing

Sites of the host program are compared only where the line names them by role, unless the finding has no others.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def marks_of(path):
    marks = {}
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
        for mark in re.findall(r"// @(\w+)\s*$", line):
            if mark in marks:
                sys.exit(f"{path}: '@{mark}' marks two lines")
            marks[mark] = number
    return marks


class Expectations:
    def __init__(self, path):
        self.required, self.allowed, self.options, self.alone, self.not_debug, self.hidden = [], [], [], [], [], []
        marks = marks_of(path)

        def line_of(word):
            if word.startswith("line="):
                return int(word[5:])
            if word.lstrip("@") not in marks:
                sys.exit(f"{path}: '{word}' marks no line")
            return marks[word.lstrip("@")]

        for text in open(path, encoding="utf-8"):
            m = re.match(r"//\s*(expect|allow|options|alone|not-G|hidden):\s*(.*)$", text)
            if not m or m.group(2).strip() == "none":
                continue
            words = m.group(2).split()
            if m.group(1) in ("options", "alone", "not-G", "hidden"):
                getattr(self, m.group(1).replace("not-G", "not_debug")).extend(words)
                continue
            case = words.pop(0)[:-1] if words[0].endswith(":") else ""
            severity = words.pop(0)
            if severity not in ("error", "warning", "note"):
                sys.exit(f"{path}: '{severity}' is no severity")
            roles = tuple((w.split("=")[0], line_of(w.split("=")[1])) for w in words[1:] if re.match(r"\w+=@", w))
            lines = tuple(sorted((line_of(w) for w in words[1:] if not re.match(r"\w+=@", w)), key=str))
            (self.required if m.group(1) == "expect" else self.allowed).append(
                {"case": case, "severity": severity, "kind": words[0], "lines": lines, "roles": roles})

    def fits(self, entry, finding, name):
        if entry["kind"] != finding["kind"] or entry["severity"] != finding["severity"]:
            return False
        if entry["lines"] != lines_of(finding, name):
            return False
        return all(any(s["role"] == role and any(os.path.basename(f["file"]) == name and f["line"] == line for f in s.get("stack", []))
                       for s in finding["sites"]) for role, line in entry["roles"])


ASIDE = ("launched", "allocated", "freed")


def lines_of(finding, name):
    """The lines of the program that a finding is about; where memory and launches come from only if there is no other."""
    def line(site):
        if "stack" in site:  # on the host: the innermost line of this file
            return next((f["line"] for f in site["stack"] if os.path.basename(f["file"]) == name), "host")
        return site["line"] if os.path.basename(site["file"]) == name else f"{site['file']}:{site['line']}"

    sites = [s for s in finding["sites"] if s["role"] not in ASIDE] or finding["sites"][:1]
    return tuple(sorted((line(s) for s in sites), key=str))


# Threads, and the instruction set of the handlers (none: the best there is).
RUNS = [("1", None), ("2", None)]
if os.path.exists("/proc/cpuinfo") and " avx512vl" in open("/proc/cpuinfo", encoding="utf-8").read():
    RUNS.append(("1", "avx2"))


def run_check(command, folder, instruction_set=None):
    out = os.path.join(folder, "findings.json")
    environment = {**os.environ, **({"TILEWRIGHT_TARGET": instruction_set} if instruction_set else {})}
    run = subprocess.run(command[:2] + ["--json", out, "--error-exitcode", "77"] + command[2:], env=environment, capture_output=True, text=True,
                         errors="replace")
    text = f"{' '.join(command)} {instruction_set or ''}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"
    if not os.path.exists(out):
        sys.exit(text)
    report = json.load(open(out, encoding="utf-8"))
    os.remove(out)
    return report, run.returncode, text


def compare(expected, report, status, name, case="", without=()):
    """What is wrong with a report, as lines."""
    def wanted(e):
        return e["case"] not in without and (not case or e["case"] == case)
    required = [e for e in expected.required if wanted(e)] if expected else []
    allowed = [e for e in expected.allowed if wanted(e)] if expected else []
    problems = []
    for entry in required:
        if not any(expected.fits(entry, f, name) for f in report["findings"]):
            problems.append(f"not found: {entry}")
    for f in report["findings"]:
        if not any(expected.fits(e, f, name) for e in required + allowed):
            problems.append(f"found, but not expected: {f['severity']} {f['kind']} {lines_of(f, name)}: {f['message']}")
    serious = any(f["severity"] != "note" for f in report["findings"])
    if serious != (status == 77):
        problems.append("the exit status does not fit the findings")
    return problems


def check_planted(a):
    name = os.path.basename(a.source)
    expected = Expectations(a.source)
    os.makedirs(a.build, exist_ok=True)
    wrapper = os.path.join(a.build, name[:-3] + ".both.cu")
    text = ""
    for namespace, pick in (("bug", "wrong"), ("twin", "right")):
        text += f"#undef PLANTED\n#undef BUG\n#define PLANTED {namespace}\n#define BUG(wrong, right) {pick}\n#include \"{os.path.abspath(a.source)}\"\n"
    text += ("int main(int argc, char** argv) {\n  const char* only = argc > 2 ? argv[2] : nullptr;\n"
             "  return argv[1][0] == 'b' ? bug::program(only) : twin::program(only);\n}\n")
    if not os.path.exists(wrapper) or open(wrapper).read() != text:
        open(wrapper, "w").write(text)
    problems = []
    launches = 0
    with tempfile.TemporaryDirectory() as folder:
        for flags in ("", "-G"):
            for variant in ("bug", "twin"):
                for threads, instruction_set in RUNS:
                    # One after the other those that end the program; then all others.
                    alone = expected.alone if variant == "bug" else []
                    without = expected.not_debug if flags == "-G" else []
                    cases = sorted({e["case"] for e in expected.required} - set(without))
                    runs = [[c] for c in (cases if alone else [])] or [["-," + ",".join(without) + ","] if without else []]
                    for only in runs:
                        command = [a.tilewright, "check", wrapper, "--threads", threads] + (["--nvcc", flags] if flags else []) + expected.options + ["--", variant] + only
                        report, status, shown = run_check(command, folder, instruction_set)
                        launches += report["checked"]["launches"]
                        wrong = compare(expected if variant == "bug" else None, report, status, name, only[0] if only and only[0][0] != "-" else "", without)
                        if variant == "twin" and status != 0:
                            wrong.append(f"the twin ends with status {status}")
                        if wrong:
                            problems.append("\n".join(wrong) + "\n" + shown)
                for case in expected.hidden if variant == "bug" else []:
                    report, status, shown = run_check([a.tilewright, "check", wrapper] + (["--nvcc", flags] if flags else []) + ["--", variant, case], folder)
                    if report["findings"]:
                        problems.append(f"{case}: found without {' '.join(expected.options)}, too\n{shown}")
                if problems and variant == "bug":
                    break
            if problems:
                break
    if launches == 0:
        problems.append("nothing was checked")
    if problems:
        sys.exit("\n".join(problems))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilewright", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--silent", action="store_true", help="nothing may be found, and the program must end with 0")
    parser.add_argument("--build", default=".")
    parser.add_argument("--nvcc", default="")
    a = parser.parse_args()
    if a.planted:
        return check_planted(a)
    name = os.path.basename(a.source)
    expected = Expectations(a.source)
    with tempfile.TemporaryDirectory() as folder:
        command = [a.tilewright, "check", a.source, "--threads", "1"] + expected.options + (["--nvcc", a.nvcc] if a.nvcc else [])
        report, status, shown = run_check(command, folder)
    problems = compare(expected if not a.silent else None, report, status, name)
    if a.silent and status != 0:
        problems.append(f"the program ends with status {status}")
    if report["checked"]["launches"] == 0:
        problems.append("nothing was checked")
    if problems:
        sys.exit("\n".join(problems) + "\n" + shown)


if __name__ == "__main__":
    main()
