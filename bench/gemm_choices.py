#!/usr/bin/env python3
"""Which stored GEMM rows are of other kernels than today's model takes.

Each row of bench/results/gemm-*.json holds what the library queued when it was measured ("kernels"). This asks
`tilewright explain gemm` for every row's shape and writes the names of those that differ to
bench/results/gemm-choice-changed.json, from which render_tables.py puts stars into the tables; where none differs there
is no such file. `--check` writes nothing and fails if the file is not what it would be.
    bench/gemm_choices.py [--check] [--tilewright build/release/bin/tilewright]
Standard library only.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
CHANGED = RESULTS / "gemm-choice-changed.json"


def queued(tilewright, case):
    """The line that names what the library queues for this shape today."""
    shape = [f"--{key}={case[key]}" for key in ("m", "n", "k", "batches", "type", "layout")]
    text = subprocess.run([tilewright, "explain", "gemm", *shape], capture_output=True, text=True, check=True).stdout
    return re.search(r"^queued: (.*)$", text, flags=re.M).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tilewright", default=str(ROOT / "build/release/bin/tilewright"))
    options = parser.parse_args()
    names = []
    for path in sorted(RESULTS.glob("gemm-*.json")):
        for case in json.loads(path.read_text()).get("cases", []):
            if isinstance(case, dict) and case.get("suite") not in (None, "tiles") and "kernels" in case:
                now = queued(options.tilewright, case)
                if now != case["kernels"]:
                    names.append(case["name"])
                    print(f"{case['name']}: measured {case['kernels']}; today {now}")
    text = json.dumps({"schema": 1, "what": "rows of gemm-*.json whose kernels today's model does not take (bench/gemm_choices.py)",
                       "cases": sorted(names)}, indent=1) + "\n" if names else ""
    if options.check:
        if text != (CHANGED.read_text() if CHANGED.exists() else ""):
            print("gemm-choice-changed.json is not current; run bench/gemm_choices.py")
            return 1
    elif text:
        CHANGED.write_text(text)
    else:
        CHANGED.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
