#!/usr/bin/env python3
"""Renders the tables of a Markdown file from bench/results/*.json, so that no figure is typed by hand.

A table stands between the lines
    <!-- table: FILE KIND -->  and  <!-- end table -->
FILE is a result in bench/results (written by tilewright-bench --json), KIND one of: transpose, transpose_summary,
permute, inplace, ceilings, gemm, gemm_goals, gemm_tiles, gemm_steps, gemm_reasons, ladder, overhead, cpu, ncu, prediction, slowdown,
checkers, lanes, lanes_below. `render_tables.py docs/transpose.md` rewrites the file;
without a file it goes through README.md and docs/. `--check` fails if one would change.
Standard library only.
"""
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"b8": "1", "b16": "2", "b32": "4", "b64": "8", "b128": "16"}


def load(name):
    return json.loads((ROOT / "bench/results" / name).read_text())


def rates(case):
    return {r["name"]: r["rate"] for r in case["results"] if "rate" in r}


def heading(data):
    card = data["card"]
    clock = data.get("card_after", card)
    return (f"{card['name']}, driver {card['driver']}, CUDA {card['cuda_runtime'] // 1000}."
            f"{card['cuda_runtime'] % 1000 // 10}, SM clock up to {card['sm_clock_max_mhz']} MHz "
            f"({clock['sm_clock_mhz']} at the end), {data['date'][:10]}; {data['method']}.")


def cell(value, digits=0):
    return "" if value is None else f"{value:.{digits}f}"


def best_copy(r, overlapped=False):
    names = ["memcpy", "copy kernel", "cudaMemcpyAsync"] + (["overlapped copy kernel"] if overlapped else [])
    return max((r[n] for n in names if n in r), default=None)


def pytorch(name):
    path = ROOT / "bench/results" / name.replace(".json", "-pytorch.json")
    if not path.exists():
        return {}
    return {c["key"]: c["rate"] for c in json.loads(path.read_text())["cases"]}


def key(case):
    if "sizes" in case:
        return f"{case['type']} {case['sizes']} {case['order']}"
    return " ".join(case[k] for k in ("type", "rows", "cols", "ld_in", "ld_out", "batch"))


UNMEASURED_RULE = "\\* An older rule's kernel; today's rule takes another, not measured."


def transpose_table(name, data):
    torch = pytorch(name)
    rows = ["| bytes | matrix | ours | copy | of copy | overlapped copy | geam | textbook | PyTorch |",
            "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for case in data["cases"]:
        r = rates(case)
        if "tilewright" not in r:
            continue
        copy = best_copy(r)
        shape = case["name"].split(" ", 1)[1]
        rows.append(f"| {TYPES[case['type']]} | {shape} | {cell(r['tilewright'])} | {cell(copy)} | "
                    f"{100 * r['tilewright'] / copy:.1f} % | {cell(r.get('overlapped copy kernel'))} | "
                    f"{cell(r.get('geam'))} | {cell(r.get('textbook'))} | {cell(torch.get(key(case)))} |")
    return rows


def transpose_summary_table(name, data):
    """A row a kind of matrix, a column an element size: the share of the fastest copy's rate, overlapped launches included."""
    kinds = {"square, 512 MiB to 1 GiB": lambda c: c["what"] == "" and c["rows"] == c["cols"] and int(c["rows"]) % 4096 == 0,
             "8191x8191": lambda c: c["what"] == "" and c["rows"] == c["cols"] == "8191",
             "4096x4096 of a larger one, odd pitches": lambda c: c["what"] == "sub, odd ld",
             "1048576x3": lambda c: c["what"] == "tall" and c["cols"] == "3",
             "4096 of 64x64": lambda c: c["what"] == "batch" and c["rows"] == "64"}
    types = ["b8", "b16", "b32", "b64", "b128"]
    rows = ["| bytes of an element | " + " | ".join(TYPES[t] for t in types) + " |", "|---" + "|--:" * len(types) + "|"]
    for kind, wanted in kinds.items():
        cells = []
        for t in types:
            case = [c for c in data["cases"] if c["type"] == t and wanted(c)][-1]  # sizes grow
            r = rates(case)
            cells.append(f"{100 * r['tilewright'] / best_copy(r, overlapped=True):.0f} %")
        rows.append(f"| {kind} | " + " | ".join(cells) + " |")
    return rows


def permute_table(name, data):
    torch = pytorch(name)
    rows = ["| bytes | layout | sizes | order | ours | copy | of copy | PyTorch |", "|---|---|---|---|--:|--:|--:|--:|"]
    for case in data["cases"]:
        r = rates(case)
        if "tilewright" not in r:
            continue
        copy = best_copy(r)
        rows.append(f"| {TYPES[case['type']]} | {case['what']} | {case['sizes']} | {case['order']} | "
                    f"{cell(r['tilewright'])} | {cell(copy)} | {100 * r['tilewright'] / copy:.1f} % | "
                    f"{cell(torch.get(key(case)))} |")
    return rows


def inplace_table(_, data):
    rows = ["| bytes | matrix | GB/s | workspace, MB |", "|---|---|--:|--:|"]
    for case in data["cases"]:
        r = rates(case)
        if "tilewright" in r:
            rows.append(f"| {TYPES[case['type']]} | {case['rows']}x{case['cols']} | {cell(r['tilewright'])} | "
                        f"{int(case['workspace_bytes']) / 1e6:.1f} |")
    return rows


def ceilings_table(_, data):
    device = {}
    for path in (ROOT / "devices").glob("*.json"):
        text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
        try:
            spec = json.loads(text)
        except ValueError:
            continue
        if spec.get("name") == data["card"]["name"]:
            device = spec
    def datasheet(case):
        field = {"copy": "dram_gb_per_s", "ffma": "fp32_tflops"}.get(case["kind"])
        if case["kind"] == "tensor":
            field = {"bf16": "bf16_tflops", "f16": "fp16_tflops", "tf32": "tf32_tflops", "fp8": "fp8_tflops",
                     "f32": "fp32_tflops"}[case["type"]]
        value = device.get("datasheet", {}).get(field)
        return value.get("value") if isinstance(value, dict) else value
    rows = ["| what | measured | unit | datasheet |", "|---|--:|---|--:|"]
    for case in data["cases"]:
        r = rates(case)
        best = max(r.values(), default=None)
        if best is not None:
            rows.append(f"| {case['name']} | {cell(best, 0 if best >= 100 else 1)} | {case['unit']} | {cell(datasheet(case))} |")
    return rows


def cpu_table(_, data):
    rows = ["| bytes | matrix | threads | ours, GB/s | copy | of copy | OpenBLAS omatcopy |", "|---|---|--:|--:|--:|--:|--:|"]
    for c in data["cases"]:
        rows.append(f"| {c['element_bytes']} | {c['rows']}x{c['cols']} | {c['threads']} | {cell(c['tilewright'], 1)} | {cell(c['copy'], 1)} | "
                    f"{100 * c['tilewright'] / c['copy']:.0f} % | {cell(c.get('openblas'), 1)} |")
    return rows


def ladder_table(_, data):
    """Every step of kernels/transpose beside the copy; a size where a step does not run stays empty."""
    cases = data["cases"]
    names = []
    for case in cases:
        for r in case["results"]:
            if r["name"] not in names:
                names.append(r["name"])
    rows = ["| GB/s | " + " | ".join(c["name"] for c in cases) + " |", "|---|" + "--:|" * len(cases)]
    for name in names:
        rows.append(f"| {name} | " + " | ".join(cell(rates(c).get(name)) for c in cases) + " |")
    return rows


def overhead_table(_, data):
    rows = ["| call | us | bare launch | beyond it |", "|---|--:|--:|--:|"]
    for case in data["cases"]:
        r = {x["name"]: x for x in case["results"]}
        rows.append(f"| {case['call']} | {r['tilewright']['us']:.2f} | {r['bare launch']['us']:.2f} | {r['tilewright']['beyond_us']:.2f} |")
    return rows


def gemm_reasons_table(_, data):
    """Every step of kernels/gemm beside cublasSgemm, with what the profile says bounds it."""
    path = ROOT / "bench/results/gemm-steps-profile.json"
    profile = {s["step"]: s for s in json.loads(path.read_text())["steps"]} if path.exists() else {}
    cases = data["cases"]
    rows = ["| step, TFLOP/s | " + " | ".join(c["n"] for c in cases) + " | bound, by the profile | the next |", "|---|" + "--:|" * len(cases) + "---|---|"]
    names = []
    for case in cases:
        for r in case["results"]:
            if r["name"] not in names:
                names.append(r["name"])
    for name in names:
        bounds = sorted(profile.get(name, {}).get("prediction", {}).get("bounds", []), key=lambda b: -b["seconds"])
        reason = [f"{b['unit']} {100 * b['speed_of_light']:.0f} %" for b in bounds[:2]] + ["", ""]
        rows.append(f"| {name} | " + " | ".join(cell(rates(c).get(name), 1) for c in cases) + f" | {reason[0]} | {reason[1]} |")
    return rows


def gemm_best(case):
    """Ours, cuBLASLt's best and first candidate, padding by hand; TFLOP/s or None."""
    r = rates(case)
    lt = [v for n, v in r.items() if n.startswith("cublas")]
    return r.get("ours"), max(lt, default=None), r.get("cublas0"), r.get("padded")


def gemm_shape(case):
    return tuple(int(case[k]) for k in ("m", "n", "k", "batches"))


def copy_rate(size):
    """GB/s of a copy that moves `size` bytes in all: between the measured copies by the logarithm of the size."""
    copies = []
    for case in load("ceilings-h200.json")["cases"]:
        if case["kind"] == "copy":
            copies.append((case["work"], best_copy({r["name"]: r["rate"] for r in case["results"]})))
    copies.sort()
    if size <= copies[0][0]:
        return copies[0][1]
    for (low, slow), (high, fast) in zip(copies, copies[1:]):
        if size <= high:
            return slow + (fast - slow) * math.log(size / low) / math.log(high / low)
    return copies[-1][1]


def gemm_bandwidth(case, ours):
    """GB/s that a product of 16-bit elements moves at least, and its share of a copy's rate."""
    m, n, k, batches = gemm_shape(case)
    size = 2 * batches * (m * k + k * n + m * n)
    rate = size / (case["work"] / (ours * 1e12)) * 1e-9
    return [cell(rate), f"{100 * rate / copy_rate(size):.0f} %"]


def gemm_aligned(name, case, ours):
    """Share of our own rate on the square of the next multiple of 1024, from the squares of the same type."""
    path = ROOT / "bench/results" / name.replace("ragged", "squares")
    side = str((max(gemm_shape(case)[:3]) + 512) // 1024 * 1024)
    if not path.exists():
        return [""]
    for other in json.loads(path.read_text())["cases"]:
        if other["layout"] == case["layout"] and other["m"] == other["n"] == side:
            return [f"{100 * ours / rates(other)['ours']:.0f} %"]
    return [""]


def gemm_table(name, data):
    suite = data["suite"]
    ragged = any("padded" in rates(c) for c in data["cases"])
    columns = ["type", "layout", "m x n x k", "ours", "cuBLASLt best", "ratio", "cuBLASLt first"]
    columns += (["padded by hand"] if ragged else []) + (["of our aligned"] if suite == "ragged" else [])
    columns += ["GB/s", "of copy"] if suite == "skinny" else []
    rows = ["| " + " | ".join(columns) + " |", "|---|---|---|" + "--:|" * (len(columns) - 3)]
    ratios, starred = [], False
    path = ROOT / "bench/results/gemm-choice-changed.json"
    changed = set(json.loads(path.read_text())["cases"]) if path.exists() else set()
    for case in data["cases"]:
        ours, best, first, padded = gemm_best(case)
        if ours is None:
            continue
        digits = 0 if ours >= 100 else 1
        shape = f"{case['m']}x{case['n']}x{case['k']}" + (f", {case['batches']} batches" if case["batches"] != "1" else "")
        ratio = ours / best if best else None
        star = " *" if case["name"] in changed else ""
        if ratio:
            ratios.append((ratio, bool(star)))
        starred = starred or bool(star)
        cells = [case["type"], case["layout"], shape, cell(ours, digits) + star, cell(best, digits), cell(ratio, 2), cell(first, digits)]
        cells += [cell(padded, digits)] if ragged else []
        cells += gemm_aligned(name, case, ours) if suite == "ragged" else []
        cells += gemm_bandwidth(case, ours) if suite == "skinny" else []
        rows.append("| " + " | ".join(cells) + " |")
    def summary(kept):
        return f"geometric mean {math.exp(sum(map(math.log, kept)) / len(kept)):.3f}, worst {min(kept):.3f}"
    if ratios:
        text = f"{len(ratios)} cases; ratio to cuBLASLt's best: {summary([r for r, _ in ratios])}."
        today = [r for r, star in ratios if not star]
        if today and len(today) != len(ratios):
            text += f" The {len(today)} without a star: {summary(today)}."
        rows += ["", text]
    if starred:
        rows += ["", UNMEASURED_RULE]
    return rows


def gemm_ratios(suite, kind, keep=lambda case: True):
    """Ratios to cuBLASLt's best of a suite's rows that have one."""
    out = []
    for case in load(f"gemm-{suite}-{kind}-h200.json")["cases"]:
        ours, best, _, _ = gemm_best(case)
        if ours and best and keep(case):
            out.append(ours / best)
    return out


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def gemm_goals_table(_, data):
    """What was asked of each suite beside what the stored rows say."""
    rows = ["| suite | asked | mean | worst | met |", "|---|---|--:|--:|---|"]
    def row(name, asked, values, met):
        mean, worst = (f"{mean_of(values):.3f}", f"{min(values):.3f}") if values else ("", "")
        rows.append(f"| {name} | {asked} | {mean} | {worst} | {met} |")
    def mean_row(name, suite, kind, asked, least=0.0, keep=lambda case: True):
        values = gemm_ratios(suite, kind, keep)
        met = mean_of(values) >= asked and min(values) >= least
        row(name, f"mean {asked}" + (f", worst {least}" if least else ""), values, "yes" if met else "no")
    for kind in ("bf16", "f16"):
        mean_row(f"squares, {kind}", "squares", kind, 1.0, 0.95)
    mean_row("squares, tf32", "squares", "tf32", 1.0)
    mean_row("squares, e4m3", "squares", "e4m3", 1.0)
    mean_row("squares, fp32", "squares", "f32", 1.03)
    mean_row("projections of language models, bf16", "llm", "bf16", 1.0)
    for kind in ("bf16", "f16"):
        name = f"gemm-ragged-{kind}-h200.json"
        cases = [c for c in load(name)["cases"] if max(gemm_shape(c)) >= 4090]
        share = [int(gemm_aligned(name, c, gemm_best(c)[0])[0].split()[0]) for c in cases]
        rows.append(f"| ragged, {kind}, from 4093 up | 85 % of our aligned rate | | {min(share)} % | "
                    f"{sum(s >= 85 for s in share)} of {len(share)} rows |")
        falls = [c for c in load(name)["cases"] if "padded" in rates(c)]
        four = [gemm_best(c)[0] / gemm_best(c)[1] for c in falls]
        row(f"ragged, {kind}, where cuBLASLt falls", "4 times cuBLASLt", four, f"{sum(r >= 4 for r in four)} of {len(four)} rows")
        hand = [gemm_best(c)[0] / gemm_best(c)[3] for c in falls]
        row(f"ragged, {kind}, where cuBLASLt falls", "ahead of padding by hand", hand, f"{sum(r > 1 for r in hand)} of {len(hand)} rows")
    mean_row("ragged, tf32, where cuBLASLt falls", "ragged", "tf32", 2.5, keep=lambda c: "padded" in rates(c))
    mean_row("ragged, fp32", "ragged", "f32", 1.1)
    skinny = load("gemm-skinny-bf16-h200.json")["cases"]
    met = [c for c in skinny if gemm_best(c)[0] / gemm_best(c)[1] >= 1.1
           or int(gemm_bandwidth(c, gemm_best(c)[0])[1].split()[0]) >= 85]
    row("skinny, bf16", "1.1, or 85 % of a copy of as many bytes", gemm_ratios("skinny", "bf16"), f"{len(met)} of {len(skinny)} rows")
    return rows


def gemm_tiles_table(name, data):
    """Measured over predicted time of every kernel the model could have taken, one row a shape."""
    rows = ["| m x n x k | kernels | measured / predicted, median | least | most | ours to fastest kernel |", "|---|--:|--:|--:|--:|--:|"]
    for case in data["cases"]:
        forced = [r for r in case["results"] if "predicted_us" in r]
        if not forced:
            continue
        ratios = sorted(r["median_us"] / r["predicted_us"] for r in forced)
        ours = next(r["median_us"] for r in case["results"] if r["name"] == "ours")
        rows.append(f"| {case['m']}x{case['n']}x{case['k']} | {len(forced)} | {ratios[len(ratios) // 2]:.2f} | {ratios[0]:.2f} | "
                    f"{ratios[-1]:.2f} | {ours / min(r['median_us'] for r in forced):.2f} |")
    return rows


def gemm_steps_table(name, data):
    """One row a step; the idea is read from the step's first line."""
    cases = {(c["type"], c["n"]): rates(c) for c in data["cases"]}
    rows = ["| step | what changed | type | 1024 | 4096 | 4095 | of cuBLAS at 4096 | at 4095 |", "|---|---|---|--:|--:|--:|--:|--:|"]
    number = lambda v: "" if v is None else cell(v, 0 if v >= 100 else 1)
    for kind in ("f32", "bf16"):
        for step in cases[kind, "4096"]:
            if step == "cublas":
                continue
            text = (ROOT / "kernels/gemm" / f"{step}.cu").read_text()
            idea = re.search(r"^// GEMM step \d+: (.*?)\.?$", text, flags=re.M).group(1)
            figures = [cases[kind, n].get(step) for n in ("1024", "4096", "4095")]
            shares = [f"{100 * v / cases[kind, n]['cublas']:.0f} %" if v else "" for v, n in ((figures[1], "4096"), (figures[2], "4095"))]
            rows.append(f"| {step} | {idea} | {kind} | " + " | ".join(map(number, figures)) + f" | {shares[0]} | {shares[1]} |")
        rows.append(f"| cuBLAS | | {kind} | " + " | ".join(number(cases[kind, n]["cublas"]) for n in ("1024", "4096", "4095")) + " | | |")
    return rows


def ncu_table(_, data):
    """Ours / Nsight Compute's for the estimated counters; how many of the exact ones are equal."""
    def ratio(kernel, metric):
        ours, theirs = kernel["estimates"].get(metric, (None, None))
        if theirs is None:
            return ""
        if theirs == 0:
            return "both 0" if ours == 0 else f"{ours:.3g} / 0"
        return f"{ours / theirs:.2f}"
    rows = ["| program | size | kernel | exact counters equal | instructions | " + " | ".join(data["estimate_names"][1:]) + " |",
            "|---|---|---|--:|--:|" + "--:|" * (len(data["estimate_names"]) - 1)]
    for k in data["kernels"]:
        all_of_them = k["equal"] + k["noise"] + len(k["differ"])
        size = re.sub(r"--(\w) ", r"\1=", k["arguments"])
        rows.append(f"| {k['source'].rsplit('/', 1)[-1]} | {size} | `{k['kernel']}` | {k['equal']} of {all_of_them}"
                    f"{' (' + str(k['noise']) + ' arbitration)' if k['noise'] else ''} | "
                    + " | ".join(ratio(k, m) for m in data["estimated_metrics"]) + " |")
    return rows


def prediction_table(_, data):
    rows = ["| step | size | bound | predicted, us | launch, us | measured, us | measured / (predicted + launch) |",
            "|---|--:|---|--:|--:|--:|--:|"]
    reasons = {}
    for r in data["rows"]:
        if r["predicted_us"] is None:
            rows.append(f"| {r['step']} | {r['size']} | not profiled | | | {r['measured_us']:.1f} | |")
            continue
        note = ""
        if "reason" in r:
            note = f" ({reasons.setdefault(r['reason'], len(reasons) + 1)})"
        rows.append(f"| {r['step']} | {r['size']} | {r['bound']} | {r['predicted_us']:.1f} | {r['launch_us']:.1f} | {r['measured_us']:.1f} | "
                    f"{r['ratio']:.2f}{note} |")
    if reasons:
        rows += ["", f"Off by more than {round((data['limit'] - 1) * 100)} %, and why:", ""]
        rows += [f"{number}. {reason}" for reason, number in reasons.items()]
    return rows


def slowdown_table(_, data):
    rows = ["| kernel | instruction set | bare, ms | counted, ms | ratio |", "|---|---|--:|--:|--:|"]
    for r in data["rows"]:
        kernel, n = r["name"].split("/")[:2]
        rows.append(f"| {kernel}, n = {n} | {r['instruction_set']} | {r['bare_ms']:.2f} | {r['counted_ms']:.2f} | {r['slowdown']:.2f} |")
    return rows


def checkers_table(_, data):
    rows = ["| kernel | n | prototype c, ms | all four, ms | c / all four | racecheck, ms | bare, ms |", "|---|--:|--:|--:|--:|--:|--:|"]
    order = ["tiled", "naive16", "naive32", "sgemm", "transpose", "div"]
    for r in sorted(data["rows"], key=lambda r: (order.index(r["kernel"]), r["n"])):
        c = r["prototype_c_ms"]
        rows.append(f"| {r['kernel']} | {r['n']} | {cell(c, 1) or '-'} | {r['all_ms']:.1f} | {cell(c and c / r['all_ms'], 2) or '-'} | "
                    f"{r['racecheck_ms']:.1f} | {r['bare_ms']:.1f} |")
    return rows


def planted_gemm_table(_, data):
    """A row a bug; both sides' twins are silent, or it says what they say."""
    rows = ["| step | planted | compute-sanitizer | tilewright check |", "|---|---|---|---|"]
    for r in data["rows"]:
        theirs = r.get("sanitizer")
        found = [tool for tool, text in (theirs or {}).items() if text.startswith("found")]
        hangs = theirs and any(text == "timeout" for text in theirs.values())
        loud = [f"{tool} on the step as it is: {text}" for tool, text in r.get("sanitizer_twin", {}).items() if text != "silent"]
        rows.append(f"| {r['step']} | {r['planted']} | {'not run' if theirs is None else ', '.join(found) or ('hangs' if hangs else 'nothing')}{'; ' + '; '.join(loud) if loud else ''} | "
                    f"{', '.join(r.get('check', [])) or ('nothing' if 'check' in r else 'not run')}{'; on the step as it is: ' + ', '.join(r['check_twin']) if r.get('check_twin') else ''} |")
    return rows


def lanes_rates(data, rows):
    """The least of the rows' rates and the middle one, for each instruction set."""
    cells = []
    for name in data["instruction_sets"]:
        rates = sorted(r[name] for r in rows)
        cells += [f"{rates[0]:.2f}", f"{rates[len(rates) // 2]:.1f}"]
    return " | ".join(cells)


def lanes_table(_, data):
    sets = data["instruction_sets"]
    head = " | ".join(f"{s}: least | median" for s in sets)
    rows = [f"| instructions | target | forms | at target | {head} |", "|---|--:|--:|--:|" + "--:|--:|" * len(sets)]
    groups = {}
    for r in data["rows"]:
        groups.setdefault((r["group"], r["target"]), []).append(r)
    for (name, target), members in sorted(groups.items()):
        reached = sum(all(r[s] >= target for s in sets) for r in members)
        rows.append(f"| {name} | {target:g} | {len(members)} | {reached} | {lanes_rates(data, members)} |")
    return rows


def lanes_below_table(_, data):
    sets = data["instruction_sets"]
    rows = [f"| below the target | {' | '.join(sets)} |", "|---|" + "--:|" * len(sets)]
    kinds = {}  # of one opcode and the type behind it, the slowest form
    for r in data["rows"]:
        if any(r[s] < r["target"] for s in sets):
            words = r["name"].removeprefix("table/").split(".")
            kinds.setdefault((words[0], words[-1]), []).append(r)
    for (opcode, _type), members in sorted(kinds.items()):
        slowest = min(members, key=lambda r: min(r[s] for s in sets))
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        rows.append(f"| `{slowest['name'].removeprefix('table/')}`{more} | {' | '.join(f'{slowest[s]:.2f}' for s in sets)} |")
    return rows


KINDS = {"lanes": lanes_table, "lanes_below": lanes_below_table, "checkers": checkers_table, "slowdown": slowdown_table, "ncu": ncu_table, "prediction": prediction_table, "gemm": gemm_table, "gemm_goals": gemm_goals_table, "gemm_tiles": gemm_tiles_table, "gemm_steps": gemm_steps_table, "transpose": transpose_table, "transpose_summary": transpose_summary_table, "permute": permute_table, "inplace": inplace_table, "ceilings": ceilings_table,
         "cpu": cpu_table, "ladder": ladder_table, "overhead": overhead_table, "gemm_reasons": gemm_reasons_table, "planted_gemm": planted_gemm_table}


def render(text):
    def table(match):
        name, kind = match.group(1), match.group(2)
        data = load(name)
        if isinstance(data.get("card"), str):
            head = data["card"] + (f", ncu {data['ncu']}" if "ncu" in data else "") + (f"; {data['method']}." if "method" in data else ".")
        else:
            head = heading(data) if "card" in data else data["machine"]
        return "\n".join([f"<!-- table: {name} {kind} -->", head, "", *KINDS[kind](name, data), "<!-- end table -->"])
    # A table without its end would take the text up to the next one's with it.
    whole = r"<!-- table: (\S+) (\w+) -->\n(?:(?!<!-- table: ).)*?<!-- end table -->"
    new, rendered = re.subn(whole, table, text, flags=re.S)
    marks = len(re.findall(r"<!-- table: \S+\.json", text))
    if rendered != marks:
        raise SystemExit(f"{marks} marks of tables, of which {rendered} have a file, a kind and an end")
    return new


def main(arguments):
    check = "--check" in arguments
    paths = [pathlib.Path(argument) for argument in arguments if argument != "--check"]
    stale = []
    for path in paths or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        old = path.read_text()
        new = render(old)
        if old != new:
            stale.append(str(path))
            if not check:
                path.write_text(new)
    if check and stale:
        print("stale tables: " + ", ".join(stale) + "; run bench/render_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
