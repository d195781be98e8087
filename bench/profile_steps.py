#!/usr/bin/env python3
"""Why each step of kernels/gemm is as fast as it is: the verdict of `tilewright profile` for each, kept for the
table of steps (bench/render_tables.py, kind gemm_reasons).

    python3 bench/profile_steps.py TILEWRIGHT OUT.json [SIZE]

Needs no GPU: the engine counts, the model of the H200 judges. SIZE (default 512): M = N = K.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    tilewright, out = sys.argv[1], sys.argv[2]
    size = sys.argv[3] if len(sys.argv) > 3 else "512"
    steps = []
    for source in sorted((ROOT / "kernels/gemm").glob("0[1-8]_*.cu")):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile.json"
            subprocess.run([tilewright, "profile", str(source), "--json", str(path), "--", "--no-time", "--m", size, "--n", size,
                            "--k", size], check=True, stdout=subprocess.DEVNULL)
            report = json.loads(path.read_text())
        kernel = max(report["kernels"], key=lambda k: k["launches"] * k["blocks"])
        steps.append({"step": source.stem, "kernel": kernel["kernel"], "verdict": kernel["verdict"],
                      "prediction": kernel["prediction"]})
        print(source.stem, kernel["verdict"])
    pathlib.Path(out).write_text(json.dumps({"size": int(size), "device": report.get("device", ""), "steps": steps}, indent=1) + "\n")


if __name__ == "__main__":
    main()
