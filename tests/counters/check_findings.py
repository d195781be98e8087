#!/usr/bin/env python3
"""`tilewright profile --check` reports what `tilewright check` reports, with the lines of kernels and of the host program,
and names the program's arguments.

usage: check_findings.py TILEWRIGHT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = """#include <cuda_runtime.h>
__global__ void shift(float* a) { a[threadIdx.x + 1] = 1; }  // outside
int main(int argc, char**) {
  float* a;
  cudaMalloc(&a, (argc + 30) * sizeof(float));
  shift<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(a);  // twice
  return 0;
}
"""


def findings(tilewright, command, source, folder):
    report = os.path.join(folder, command[0] + ".json")
    done = subprocess.run([tilewright, *command, source, "--json", report, "--", "x y"], capture_output=True, text=True, check=False)
    if not os.path.exists(report):
        sys.exit(f"{command}: no report\n{done.stderr}")
    with open(report, encoding="utf-8") as file:
        text = re.sub(r"0x[0-9a-f]+", "ADDRESS", file.read())
    return json.loads(text)


def main(tilewright):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "program.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        checked = findings(tilewright, ["check"], source, folder)
        profiled = findings(tilewright, ["profile", "--check"], source, folder)
    lines = PROGRAM.splitlines()
    wanted = {(kind, 1 + next(i for i, line in enumerate(lines) if line.endswith("// " + mark)))
              for kind, mark in (("oob-global", "outside"), ("invalid-free", "twice"))}
    found = {(f["kind"], f["sites"][0]["line"]) for f in profiled["findings"]}
    assert found == wanted, f"{found}, expected {wanted}"
    assert profiled["findings"] == checked["findings"], "profile --check and check differ"
    assert profiled["arguments"] == ["x y"], profiled["arguments"]


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
