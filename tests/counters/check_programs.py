#!/usr/bin/env python3
"""Small programs whose counters follow from what they do: `tilewright profile` gives these numbers.

usage: check_programs.py TILEWRIGHT CASE
"""
import json
import os
import subprocess
import sys
import tempfile

HEAD = """#include <cuda_runtime.h>
#include <cstdlib>
"""

ATOMICS = HEAD + """
// 8 warps, each 64 times: 32 words of one bank, or one word, for all lanes.
template <bool kWanted>
__global__ void histogram(int* o, int bins) {
  __shared__ int b[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) b[i] = 0;
  __syncthreads();
  int seen = 0;
  for (int i = 0; i < 64; ++i) {
    int before = atomicAdd(&b[(threadIdx.x * 32 + i) % bins], 1);
    if (kWanted) seen += before;
  }
  __syncthreads();
  o[threadIdx.x] = b[threadIdx.x] + seen;
}
// Through a pointer that the compiler does not know to be shared.
__global__ void generic(int* o) {
  __shared__ int b[32];
  b[threadIdx.x] = 0;
  __syncthreads();
  int* p = o[0] == 12345 ? o : b;
  atomicAdd(p, int(threadIdx.x));
  __syncthreads();
  o[threadIdx.x] = b[0];
}
int main() {
  int* o;
  cudaMalloc(&o, 4096);
  cudaMemset(o, 0, 4096);
  histogram<true><<<1, 256>>>(o, 1024);
  histogram<true><<<1, 256>>>(o, 1);
  histogram<false><<<1, 256>>>(o, 1024);
  histogram<false><<<1, 256>>>(o, 1);
  generic<<<1, 32>>>(o);
  return cudaDeviceSynchronize();
}
"""


def profile(tilewright, text, options=()):
    with tempfile.TemporaryDirectory() as folder:
        source, report = os.path.join(folder, "program.cu"), os.path.join(folder, "report.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([tilewright, "profile", source, "--json", report, *options], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"status {run.returncode}\n{run.stdout}{run.stderr}")
        with open(report, encoding="utf-8") as file:
            return json.load(file), run.stdout


class Checks:
    def __init__(self):
        self.failures = 0

    def equal(self, what, got, wanted):
        if got != wanted:
            print(f"{what}: {got}, expected {wanted}")
            self.failures += 1


def atomics(tilewright, checks):
    requests, wavefronts, conflicts = ("tilewright__atomic_requests_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
                                       "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum")
    for options in ((), ("--no-ptxas",)):
        report, text = profile(tilewright, ATOMICS, options)
        # (requests, wavefronts each): the old value is wanted or not; 1024 bins lie in one bank, one bin is one word.
        wanted = [("histogram, old value wanted, a bank", 512, 32), ("histogram, old value wanted, a word", 512, 32),
                  ("histogram, a bank", 512, 32), ("histogram, a word", 512, 1), ("generic", 1, 32)]
        for (name, count, each), launch in zip(wanted, report["launches"], strict=True):
            got = tuple(launch["metrics"][m] for m in (requests, wavefronts, conflicts))
            checks.equal(f"{name} {options}", got, (count, count * each, count * (each - 1)))
        checks.equal("estimated", {wavefronts, conflicts} - set(report["estimated_metrics"]), set())
        first = next(k for k in report["kernels"] if "true" in k["kernel"] or "(bool)1" in k["kernel"])
        checks.equal("bound", first["prediction"]["bound"], "shared memory")
        checks.equal("wavefronts of the lines", sum(l["counters"].get("shared_atomic_wavefronts", 0) for l in first["lines"]), 2 * 512 * 32)
        checks.equal("bank map", [b["atomic"] for b in first["banks"] if b["wavefronts"] == 32], [True])


CASES = {"atomics": atomics}


def main(tilewright, case):
    checks = Checks()
    CASES[case](tilewright, checks)
    sys.exit(1 if checks.failures else 0)


if len(sys.argv) != 3 or sys.argv[2] not in CASES:
    sys.exit(__doc__)
main(*sys.argv[1:])
