#!/usr/bin/env python3
"""docs/checkers/json.md lists every kind of finding that src/report/kinds.cpp has, under its tool, and no other."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
code = set(re.findall(r'^    \{"([\w-]+)", "(\w+)", "', (ROOT / "src/report/kinds.cpp").read_text(), re.M))
text = (ROOT / "docs/checkers/json.md").read_text()
page = {(kind, tool) for tool, kinds in re.findall(r"^\| (\w+check) \| (`.*`) \|$", text, re.M) for kind in re.findall(r"`([\w-]+)`", kinds)}
for kind, tool in sorted(code ^ page):
    print(f"{tool} {kind}: only in " + ("src/report/kinds.cpp" if (kind, tool) in code else "docs/checkers/json.md"))
sys.exit(1 if code ^ page or len(code) < 10 else 0)
