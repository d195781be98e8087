#!/usr/bin/env python3
"""Compares the counters of `tilewright profile` with counters read on a real GPU.

  check_counters.py seed TILEWRIGHT seed_kernels.cu seed-kernels-ncu-h200.tsv
      every comparable counter of the eight textbook kernels
  check_counters.py expect TILEWRIGHT step.cu
      the Expect field in the header of a ladder step (kernels/README.md explains the names)

  check_counters.py stored TILEWRIGHT ncu-h200.json ROOT SOURCE ARGUMENTS
      one run of those that tests/gpu/ncu_compare stored: requests, sectors and instructions

Exit status: 0 equal, 1 not, with one line for each difference.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

# Exact on our side. The rest of the file is times, caches, machine instructions, and the shared-memory
# block limit, which on hardware follows the carve-out that the driver picked.
COMPARABLE = [
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_warps",
    "launch__shared_mem_per_block",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
]

LD, ST = "_ld.sum", "_st.sum"
NAMES = {
    "ffma": ["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"],
    "requests_ld": ["l1tex__t_requests_pipe_lsu_mem_global_op" + LD],
    "requests_st": ["l1tex__t_requests_pipe_lsu_mem_global_op" + ST],
    "sectors_ld": ["l1tex__t_sectors_pipe_lsu_mem_global_op" + LD],
    "sectors_st": ["l1tex__t_sectors_pipe_lsu_mem_global_op" + ST],
    "shared_requests_ld": ["smsp__sass_inst_executed_op_shared" + LD],
    "shared_requests_st": ["smsp__sass_inst_executed_op_shared" + ST],
    "shared_wavefronts_ld": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op" + LD],
    "shared_wavefronts_st": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op" + ST],
    "shared_excess_wavefronts": ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op" + LD,
                                 "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op" + ST],
}


def profile(tilewright, source, arguments):
    with tempfile.TemporaryDirectory() as folder, open(source) as text:
        path = os.path.join(folder, "profile.json")
        hopper = ["--nvcc", "-arch=sm_90a"] if "warpgroup.cuh" in text.read() else []
        run = subprocess.run([tilewright, "profile", source, "--json", path] + hopper + ["--"] + arguments,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit(f"tilewright profile {source}: status {run.returncode}\n{run.stdout}")
        with open(path) as file:
            report = json.load(file)
    if report["ptxas"] is not True:
        sys.exit(f"ptxas was not asked: {report['ptxas']}")
    return report


def check_seed(tilewright, source, table):
    launches = {l["kernel"]: l["metrics"] for l in profile(tilewright, source, ["256"])["launches"]}
    compared, wrong = 0, []
    with open(table) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["metric"] not in COMPARABLE:
                continue
            compared += 1
            ours = launches[row["kernel"]][row["metric"]]
            if ours != float(row["value"]):
                wrong.append(f"{row['kernel']}: {row['metric']}: {ours}, on the H200 {row['value']}")
    if compared != 8 * len(COMPARABLE):
        wrong.append(f"{compared} counters compared, expected {8 * len(COMPARABLE)}")
    return compared, wrong


def check_stored(tilewright, table, root, source, arguments):
    """Not wavefronts and conflicts, which on hardware carry noise."""
    with open(table) as file:
        kernels = [k for k in json.load(file)["kernels"] if k["source"] == source and k["arguments"] == arguments]
    launches = profile(tilewright, os.path.join(root, source), arguments.split() + ["--no-time"])["launches"]
    compared, wrong = 0, []
    for kernel in kernels:
        for launch in launches:
            if (launch["kernel"], launch["grid"], launch["block"]) != (kernel["kernel"], kernel["grid"], kernel["block"]):
                continue
            for metric, value in kernel["exact"].items():
                if "wavefronts" in metric or "conflicts" in metric:
                    continue
                compared += 1
                if launch["metrics"][metric] != value:
                    wrong.append(f"{kernel['kernel']}: {metric}: {launch['metrics'][metric]}, on the H200 {value:g}")
    if compared == 0:
        wrong.append(f"{table} holds nothing of {source} {arguments}")
    return compared, wrong


def read_expect(source):
    """Arguments and counters of the header."""
    with open(source) as file:
        text = file.read()
    field = re.search(r"^// Expect: +(.*)\n((?://   [a-z_]+ +[0-9.]+\n)+)", text, re.M)
    if not field:
        sys.exit(f"{source}: no Expect field")
    arguments = dict(a.split("=") for a in field.group(1).split())
    counters = {m[0]: float(m[1]) for m in re.findall(r"//   ([a-z_]+) +([0-9.]+)", field.group(2))}
    return arguments, counters


def check_expect(tilewright, source):
    arguments, counters = read_expect(source)
    tile = arguments.pop("tile", None)
    command = [w for name, value in arguments.items() for w in ("--" + name, value)] + ["--no-time", "--repeat", "1"]
    launches = profile(tilewright, source, command)["launches"]
    if tile:
        launches = [l for l in launches if l["block"][:2] == [int(tile)] * 2]
    if not launches:
        return 0, ["no launch to compare"]
    compared, wrong = 0, []
    for launch in launches:
        metrics = launch["metrics"]
        value = {name: sum(metrics[m] for m in keys) for name, keys in NAMES.items()}
        for op in ("ld", "st"):
            value["sectors_per_request_" + op] = value["sectors_" + op] / (value["requests_" + op] or 1)
        for name, expected in counters.items():
            compared += 1
            if name not in value:
                wrong.append(f"no counter is called {name}")
            elif value[name] != expected:
                wrong.append(f"launch {launch['id']} of {launch['kernel']}: {name} {value[name]:g}, expected {expected:g}")
    return compared, wrong


def main():
    mode, rest = sys.argv[1], sys.argv[2:]
    compared, wrong = {"seed": check_seed, "stored": check_stored, "expect": check_expect}[mode](*rest)
    for line in wrong:
        print(line)
    print(f"{compared} counters compared, {len(wrong)} differ")
    sys.exit(1 if wrong or not compared else 0)


main()
