#!/usr/bin/env python3
"""Handlers of an optimised build must chain by jumps: a call through Op::run of the next instruction
(offset 0x40 from the current one) would grow the stack with every instruction.

    tail_calls_test.py OBJECT...      exit status 1 names the objects with such calls
"""
import re
import subprocess
import sys

failed = False
for path in sys.argv[1:]:
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    if "jmp" not in text:
        sys.exit(f"{path}: no jumps at all: not disassembled?")
    calls = len(re.findall(r"\bcall\s+\*0x40\(", text))
    if calls:
        failed = True
        print(f"{path}: {calls} handlers call the next instruction instead of jumping to it")
sys.exit(failed)
