#!/usr/bin/env python3
"""Opens an HTML report in headless Chromium: no script error, no console error, no request to the network, as many
plotted points as the report has, one roof a memory level. Exit status 77, which CTest reads as skipped, where there is no Chromium.

usage: html_in_browser.py canned WRITE_CANNED_REPORT [--screenshots DIR]
       html_in_browser.py profile TILEWRIGHT PROGRAM.cu [ARGUMENT ...] [--screenshots DIR]

canned: three kernels with three roofline levels and three occupancy curves each: 18 points.
profile: a page of `tilewright profile --check`; the expected points are counted from the JSON of the same run.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def chromium(arguments, profile):
    command = [shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")]
    if command[0] is None:
        print("SKIPPED: no Chromium here (scripts/setup test installs it)")
        sys.exit(77)
    command += ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0",
                f"--user-data-dir={profile}", "--virtual-time-budget=3000"]
    return subprocess.run(command + arguments, capture_output=True, text=True, timeout=240, check=False)


def expected_of(report):
    """{attribute of <body>: value}, and strings that the page must hold."""
    levels = [level["level"] for level in report["roofs"]]
    points = 0
    for kernel in report["kernels"]:
        if kernel["prediction"]["seconds"] > 0:
            points += sum(1 for level in levels if kernel["traffic"].get(level, {}).get("flops_per_byte", 0) > 0)
        points += 3  # where it stands on each occupancy curve
    strings = [f'id="kernel-{i}"' for i in range(len(report["kernels"]))] + ["<h2>Findings</h2>", 'class="source"']
    for kernel in report["kernels"]:
        counters = kernel["counters"]
        actual, ideal = (sum(counters.get(f"global_{way}_{what}", 0) for way in ("ld", "st")) for what in ("sectors", "ideal_sectors"))
        if actual:
            strings.append(f'title="{actual:,.0f} ({ideal:,.0f})"'.replace(",", " "))
    if any(kernel["banks"] for kernel in report["kernels"]):
        strings.append('class="banks"')
    longest = max(report["kernels"], key=lambda kernel: kernel["prediction"]["seconds"])
    strings.append('<p class="verdict">' + html.escape(longest["verdict"], quote=False))
    return {"points": points, "roofs": len(levels)}, strings


def main(words):
    screenshots = None
    if "--screenshots" in words:
        at = words.index("--screenshots")
        screenshots = words[at + 1]
        del words[at:at + 2]
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        if words[0] == "canned":
            subprocess.run([words[1], page], check=True)
            expected, strings = {"points": 18, "roofs": 4}, []
        else:
            data = os.path.join(folder, "report.json")
            subprocess.run([words[1], "profile", words[2], "--check", "--html", page, "--json", data, "--", *words[3:]],
                           stdout=subprocess.DEVNULL, check=True)
            with open(data, encoding="utf-8") as file:
                expected, strings = expected_of(json.load(file))
        url = "file://" + page
        done = chromium(["--dump-dom", url], folder)
        body = re.search(r"<body([^>]*)>", done.stdout)
        failures = []
        if not body:
            failures.append("no page: " + done.stderr[-500:])
        else:
            errors = re.search(r'data-errors="([^"]*)"', body[1])
            if not errors or errors[1]:
                failures.append(f"script errors: {errors and errors[1]}")
            for name, value in expected.items():
                found = re.search(rf'data-{name}="(\d+)"', body[1])
                if not found or int(found[1]) != value:
                    failures.append(f"{name}: {found and found[1]}, expected {value}")
            failures += [f"the page lacks {text}" for text in strings if text not in done.stdout]
        failures += [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        if screenshots:
            os.makedirs(screenshots, exist_ok=True)
            shutil.copy(page, screenshots)
            for name, extra in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
                chromium([f"--screenshot={screenshots}/report-{name}.png", "--window-size=1280,3600", *extra, url], folder)
            chromium([f"--print-to-pdf={screenshots}/report.pdf", url], folder)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if len(sys.argv) < 3 or sys.argv[1] not in ("canned", "profile"):
    sys.exit(__doc__)
main(sys.argv[1:])
