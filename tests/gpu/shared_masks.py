#!/usr/bin/env python3
"""Runs shared_masks under Nsight Compute and writes lane-masks-h200.tsv on standard output: one row
per launch with the wavefronts and bank conflicts of its one shared-memory instruction.

usage: shared_masks.py PROGRAM [--ncu NCU]
"""
import argparse
import csv
import io
import subprocess
import sys
import tempfile

METRICS = {
    "ld": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    "st": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ncu", default="ncu")
    args = parser.parse_args()
    with tempfile.NamedTemporaryFile(mode="r", suffix=".csv") as log:
        metrics = ",".join(name for pair in METRICS.values() for name in pair)
        done = subprocess.run(
            [args.ncu, "--csv", "--log-file", log.name, "--metrics", metrics, args.program],
            stdout=subprocess.PIPE, text=True, check=True)
        text = log.read()
    # The program's own lines, which ncu passes through between lines of its own.
    launches = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 4]
    table = text[text.index('"ID"'):]
    values = {}
    for row in csv.DictReader(io.StringIO(table)):
        values.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    if len(values) != len(launches):
        sys.exit(f"{len(launches)} launches printed, {len(values)} profiled")
    print("pattern\twidth_bytes\tmask\top\twavefronts\tconflicts\tlane_indices")
    for number, (name, width, mask, op, indices) in enumerate(launches):
        wavefronts, conflicts = (int(values[number][metric]) for metric in METRICS[op])
        print(name, width, mask, op, wavefronts, conflicts, indices, sep="\t")


if __name__ == "__main__":
    main()
