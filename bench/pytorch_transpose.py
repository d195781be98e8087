#!/usr/bin/env python3
"""Times PyTorch on the cases of a result of tilewright-bench transpose, for the PyTorch column.

    python3 bench/pytorch_transpose.py RESULT.json OUT.json
Matrices: x.t() (a batch: x.transpose(1, 2)) copied into a preallocated output; permutations:
permute(order).contiguous(). Operands rotate beyond four times the L2; median over samples of a few calls.
"""
import json
import statistics
import sys

import torch

DTYPES = {"b8": torch.int8, "b16": torch.bfloat16, "b32": torch.float32, "b64": torch.float64, "b128": torch.complex128}
BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}


def time_us(call, bytes_moved):
    for i in range(3):
        call(i)
    inner = max(2, min(50, int(400e6 / bytes_moved)))
    samples = []
    for s in range(9):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for i in range(inner):
            call(s * inner + i)
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) * 1e3 / inner)
    return statistics.median(samples)


def random_tensor(shape, dtype):
    if dtype == torch.int8:
        return torch.randint(-128, 127, shape, dtype=dtype, device="cuda")
    return torch.randn(shape, dtype=dtype, device="cuda")


def main():
    data = json.load(open(sys.argv[1]))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    out = []
    for case in data["cases"]:
        dtype, size = DTYPES[case["type"]], BYTES[case["type"]]
        moved = case["work"]
        copies = max(1, min(64, int(4 * l2 / moved) + 2))
        if "sizes" in case:
            shape = [int(n) for n in case["sizes"].split("x")]
            order = [int(n) for n in case["order"].split(",")]
            inputs = [random_tensor(shape, dtype) for _ in range(copies)]
            call = lambda i: inputs[i % copies].permute(order).contiguous()
            key = f"{case['type']} {case['sizes']} {case['order']}"
        elif "ld_in" in case:
            rows, cols, batch = int(case["rows"]), int(case["cols"]), int(case["batch"])
            ld_in, ld_out = int(case["ld_in"]), int(case["ld_out"])
            inputs = [random_tensor((batch, rows, ld_in), dtype)[:, :, :cols] for _ in range(copies)]
            outputs = [torch.empty((batch, cols, ld_out), dtype=dtype, device="cuda")[:, :, :rows] for _ in range(copies)]
            call = lambda i: outputs[i % copies].copy_(inputs[i % copies].transpose(1, 2))
            key = " ".join(case[k] for k in ("type", "rows", "cols", "ld_in", "ld_out", "batch"))
        else:
            continue
        us = time_us(call, moved)
        out.append({"key": key, "name": case["name"], "median_us": us, "rate": moved / us * 1e-3})
        del call
    json.dump({"torch": torch.__version__, "card": torch.cuda.get_device_name(0), "cases": out}, open(sys.argv[2], "w"), indent=1)


if __name__ == "__main__":
    main()
