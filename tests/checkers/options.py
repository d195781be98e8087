#!/usr/bin/env python3
"""What the options of `tilewright check` do to its output: schedules, suppressions, SARIF, refusals."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = """\
#include <cstdio>
__global__ void last(unsigned* count, int* out) { if (atomicAdd(count, 1u) == 0) out[0] = 1; out[0] = 2; }
__global__ void beyond(int* out) { out[64 + threadIdx.x] = 1; }
int main() {
  unsigned* count; int* out;
  cudaMalloc(&count, 4); cudaMalloc(&out, 256);
  cudaMemset(count, 0, 4);
  last<<<4, 32>>>(count, out);
  beyond<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  std::puts("to stdout");
  std::fputs("to stderr\\n", stderr);
}
"""

ENDS = """\
#include <csignal>
#include <cstdlib>
#include <unistd.h>
__global__ void racy(int* o) { __shared__ int s[64]; s[threadIdx.x] = threadIdx.x; o[threadIdx.x] = s[63 - threadIdx.x]; }
__global__ void fine(int* o) { o[threadIdx.x] = threadIdx.x; }
int main(int, char** v) {
  if (v[1][0] == 'c') return 0;
  int* d;
  cudaMalloc(&d, 4096);
  racy<<<1, 64>>>(d);
  fine<<<1, 64>>>(d);
  cudaDeviceSynchronize();
  switch (v[1][0]) {
    case 's': *(volatile int*)nullptr = 1; break;
    case 'a': abort();
    case 'e': _exit(5);
    case 'k': kill(getpid(), SIGKILL); break;
    case 't': raise(SIGTERM); break;
    case 'i': raise(SIGINT); for (;;) pause();
    case 'q': std::quick_exit(9);
    case 'w': throw 3;
    case 'r':
      if (getenv("AGAIN") == nullptr) {
        setenv("AGAIN", "1", 1);
        execl("/proc/self/exe", v[0], v[1], nullptr);
      }
  }
  cudaFree(d);
  return 0;
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilewright", required=True)
    tilewright = parser.parse_args().tilewright
    problems = []

    def expect(true, what, run):
        if not true:
            problems.append(f"{what}\n{run.args}\nexit status {run.returncode}\n{run.stdout}{run.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        def check(*options):
            return subprocess.run([tilewright, "check", *options], cwd=folder, capture_output=True, text=True)

        with open(os.path.join(folder, "prog.cu"), "w") as file:
            file.write(PROGRAM)
        run = check("prog.cu", "--schedules", "3")
        expect(run.stdout.count("to stdout") == 1, "stdout of the first schedule only", run)
        expect(run.stderr.count("to stderr") == 1, "stderr of the first schedule only", run)
        expect("in 3 schedules" in run.stderr, "three schedules", run)
        expect("just past the end of the allocation of 256 bytes" in run.stderr, "the distance from the end", run)

        run = check("prog.cu", "--print-suppressions")
        rules = [line for line in run.stdout.splitlines() if line.startswith(("oob", "race"))]
        expect(len(rules) >= 2 and len(rules) == len(run.stdout.splitlines()), "suppressions alone on stdout", run)
        with open(os.path.join(folder, "known.txt"), "w") as file:
            file.write("# known\n" + "\n".join(rules) + "\nleak * gone.cu:7\n")
        run = check("prog.cu", "--suppressions", "known.txt")
        expect(run.returncode == 0 and f"{len(rules)} suppressed" in run.stderr, "all suppressed", run)
        expect(f"known.txt:{len(rules) + 2}: 'leak * gone.cu:7' suppressed nothing" in run.stderr, "the rule that is not used", run)
        expect(run.stderr.count("suppressed nothing") == 1, "and no other", run)

        run = check("prog.cu", "--sarif", "out.sarif", "--json", "out.json")
        sarif = json.load(open(os.path.join(folder, "out.sarif")))["runs"][0]
        artifact = sarif["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        expect(artifact == {"uri": "prog.cu", "uriBaseId": "SRCROOT"}, f"a relative path: {artifact}", run)
        root = sarif["originalUriBaseIds"]["SRCROOT"]["uri"]
        expect(root == f"file://{os.path.realpath(folder)}/", f"the folder: {root}", run)
        report = json.load(open(os.path.join(folder, "out.json")))
        expect(report["command"] == "check" and report["program"] == "prog.cu", "command and program", run)

        # Why a copy is refused.
        with open(os.path.join(folder, "copy.cu"), "w") as file:
            file.write("int main() { int host[2000] = {}, *p; cudaMalloc(&p, 4096);\n"
                       "cudaMemcpy(p, host, 8000, cudaMemcpyHostToDevice);\n"
                       "cudaMemcpy(host, host, 8, cudaMemcpyDeviceToHost); cudaFree(p); }")
        run = check("copy.cu")
        for why in ("8000 bytes at offset 0 of an allocation of 4096 bytes", "from a device, but the source is the host's memory"):
            expect(why in run.stderr, why, run)

        # CUB's compactions in place are ordered by what they read: a note, which fails nothing.
        with open(os.path.join(folder, "unique.cu"), "w") as file:
            file.write("#include <thrust/device_vector.h>\n#include <thrust/unique.h>\n"
                       "int main() { thrust::device_vector<int> v(100000, 1);\n"
                       "return thrust::unique(v.begin(), v.end()) - v.begin() == 1 ? 0 : 3; }")
        run = check("unique.cu")
        expect(run.returncode == 0 and "error" not in run.stderr, "thrust::unique in place", run)

        # However the program ends, what it has launched has been checked, and counted.
        with open(os.path.join(folder, "ends.cu"), "w") as file:
            file.write(ENDS)
        for how, status, ending in (("n", 1, None), ("a", 1, "signal 6"), ("s", 1, "signal 11"), ("k", 1, "signal 9"),
                                    ("t", 1, "signal 15"), ("w", 1, "signal 6"), ("e", 1, "ended at once"),
                                    ("q", 1, "ended at once"), ("i", 1, "was interrupted")):
            run = check("ends.cu", "--json", "ends.json", "--", how)
            report = json.load(open(os.path.join(folder, "ends.json")))
            found = [(f["kind"], f["count"]) for f in report["findings"] if f["kind"] != "uninit-shared"]
            expect(run.returncode == status and found == [("race-shared", 64)], f"{how}: {found}", run)
            checked = report["checked"]
            expect(checked["launches"] == 2 and checked["kernels"] == 2 and len(checked["tools"]) == 4, f"{how}: {checked}", run)
            expect((ending is None and "the program" not in run.stderr) or (ending is not None and ending in run.stderr), f"{how}: the ending", run)
        run = check("ends.cu", "--kernel", "fine", "--", "e")
        expect(run.returncode == 5 and "checked 1 launch of 1 kernel" in run.stderr, "_exit after a correct kernel", run)
        run = check("ends.cu", "--json", "ends.json", "--", "r")
        report = json.load(open(os.path.join(folder, "ends.json")))
        expect([f["count"] for f in report["findings"] if f["kind"] == "race-shared"] == [128] and report["checked"]["launches"] == 4, "exec of itself", run)
        run = check("ends.cu", "--", "c")
        expect(run.returncode == 0 and "made no CUDA call: nothing was checked" in run.stderr, "no CUDA call", run)

        # Options that leave nothing.
        run = check("prog.cu", "--kernel", "nosuchkernel")
        expect(run.returncode == 2 and "no kernel that was launched matches --kernel 'nosuchkernel'" in run.stderr, "no kernel matches", run)
        run = check("prog.cu", "--launch-skip", "5")
        expect(run.returncode == 2 and "all 2 launches are left out by --launch-skip 5" in run.stderr, "all skipped", run)
        run = check("prog.cu", "--launch-skip", "1")
        expect(run.returncode == 1 and "nothing was checked" not in run.stderr, "one skipped", run)

        run = check("prog.cu", "--max-findings", "0")
        expect(run.returncode != 0 and "in range 1 to 1000000000" in run.stderr, "the range of --max-findings", run)
        run = check("--help")
        expect("kind kernel site" in run.stdout and "--print-suppressions" in run.stdout, "the format of suppressions", run)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
