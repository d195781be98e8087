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

        run = check("prog.cu", "--max-findings", "0")
        expect(run.returncode != 0 and "in range 1 to 1000000000" in run.stderr, "the range of --max-findings", run)
        run = check("--help")
        expect("kind kernel site" in run.stdout and "--print-suppressions" in run.stdout, "the format of suppressions", run)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
