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
        checks.equal("bank map", {b["atomic"] for b in first["banks"] if b["wavefronts"] == 32}, {True})


FLOATS = HEAD + """
__global__ void sine(float* o) { o[threadIdx.x] = __sinf(o[threadIdx.x]); }
__global__ void exponential(float* o) { o[threadIdx.x] = exp2f(o[threadIdx.x]); }
__global__ void quotient(float* o) { o[threadIdx.x] = o[threadIdx.x + 32] / o[threadIdx.x]; }
__global__ void root(float* o) { o[threadIdx.x] = sqrtf(o[threadIdx.x]); }
__global__ void logarithm(float* o) { o[threadIdx.x] = __logf(o[threadIdx.x]); }
__global__ void joined(float* o) {
  float product, sum;
  asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(o[0]), "f"(o[1]));
  asm("add.f32 %0, %1, %2;" : "=f"(sum) : "f"(product), "f"(o[2]));
  o[threadIdx.x] = sum;
}
__global__ void double_quotient(double* o) { o[threadIdx.x] = o[threadIdx.x + 32] / o[threadIdx.x]; }
int main() {
  float* o;
  cudaMalloc(&o, 4096);
  cudaMemset(o, 0, 4096);
  KERNELS
  return cudaDeviceSynchronize();
}
"""


def floats(tilewright, checks):
    # Lanes times the machine instructions that run for ordinary operands (FFMA, FADD, FMUL, DFMA, DMUL), and whether there are more.
    wanted = {"sine": ((0, 0, 1, 0, 0), False), "exponential": ((0, 0, 0, 0, 0), True), "quotient": ((5, 0, 0, 0, 0), True),
              "root": ((2, 0, 2, 0, 0), True), "logarithm": ((0, 0, 1, 0, 0), True), "joined": ((1, 0, 0, 0, 0), False),
              "double_quotient": ((1, 0, 0, 7, 1), True)}
    names = [f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("ffma", "fadd", "fmul", "dfma", "dmul")]
    call = {name: f"{name}<<<1, 32>>>({'(double*)o' if name.startswith('double') else 'o'});" for name in wanted}
    report, _ = profile(tilewright, FLOATS.replace("KERNELS", " ".join(call.values())))
    for launch in report["launches"]:
        checks.equal(launch["kernel"], tuple(launch["metrics"][n] / 32 for n in names), wanted[launch["kernel"]][0])
    for exact in (True, False):  # kernels of one sort in a program: the marks are a program's
        report, _ = profile(tilewright, FLOATS.replace("KERNELS", " ".join(c for n, c in call.items() if wanted[n][1] != exact)))
        checks.equal(f"estimated, exact {exact}", names[0] in report["estimated_metrics"], not exact)
    report, _ = profile(tilewright, FLOATS.replace("KERNELS", call["joined"]), ["--no-ptxas"])
    checks.equal("estimated without ptxas", names[0] in report["estimated_metrics"], True)


LAUNCHES = HEAD + """
__global__ void fill(float* o, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i;
  for (int k = 0; k < n; ++k) s[threadIdx.x * 32 % 256] += 1;
  o[i] = s[threadIdx.x];
}
int main() {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    float* o;
    cudaMalloc(&o, 1 << 22);
    fill<<<1000, 256, 1024>>>(o, 0);
    fill<<<132, 256, 1024>>>(o, 100);
    fill<<<8, 256, 40960>>>(o, 1);
    fill<<<1000, 256, 1024>>>(o, 0);
    cudaDeviceSynchronize();
  }
  return 0;
}
"""


def launches(tilewright, checks):
    """A kernel's row is of all its launches, and says of which device where there are several."""
    report, text = profile(tilewright, LAUNCHES)
    (kernel,) = report["kernels"]
    prediction, bounds = kernel["prediction"], kernel["prediction"]["bounds"]
    checks.equal("grids", (kernel["launches"], kernel["grids"], kernel["largest_grid"]), (4, 3, [1000, 1, 1]))
    checks.equal("shared memory of the largest grid", kernel["resources"]["dynamic_shared_bytes"], 1024)
    checks.equal("shares", [round(b["speed_of_light"], 9) for b in bounds], [round(b["seconds"] / prediction["seconds"], 9) for b in bounds])
    checks.equal("the longest bound is named", prediction["bound"], bounds[0]["unit"])
    checks.equal("no bound is longer than all", bounds[0]["seconds"] <= prediction["seconds"] * (1 + 1e-9), True)
    checks.equal("limits by launch", [l["metrics"]["launch__occupancy_limit_shared_mem"] for l in report["launches"]], [114, 114, 5, 114])
    checks.equal("verdict", "for its 4 launches" in text, True)
    checks.equal("one device goes unnamed", "device 0" in text, False)
    report, text = profile(tilewright, LAUNCHES, ["--devices", "2"])
    checks.equal("devices of kernels", [k["device"] for k in report["kernels"]], [0, 1])
    checks.equal("devices of launches", sorted(l["device"] for l in report["launches"]), [0] * 4 + [1] * 4)
    checks.equal("rows", ["fill (device 0)" in text, "fill (device 1)" in text], [True, True])


CASES = {"atomics": atomics, "floats": floats, "launches": launches}


def main(tilewright, case):
    checks = Checks()
    CASES[case](tilewright, checks)
    sys.exit(1 if checks.failures else 0)


if len(sys.argv) != 3 or sys.argv[2] not in CASES:
    sys.exit(__doc__)
main(*sys.argv[1:])
