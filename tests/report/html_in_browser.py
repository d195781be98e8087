#!/usr/bin/env python3
"""Opens the canned HTML report in headless Chromium: no script error, no console error, no request to
the network, and as many plotted points as the report has (three kernels with three roofline levels and
three occupancy curves each: 18). Exit status 77, which CTest reads as skipped, where there is no Chromium.

usage: html_in_browser.py WRITE_CANNED_REPORT [--screenshots DIR]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

EXPECTED_POINTS = 18


def chromium(arguments, profile):
    command = [shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")]
    if command[0] is None:
        print("no Chromium here")
        sys.exit(77)
    command += ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0",
                f"--user-data-dir={profile}", "--virtual-time-budget=3000"]
    return subprocess.run(command + arguments, capture_output=True, text=True, timeout=120, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--screenshots")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        subprocess.run([args.program, page], check=True)
        url = "file://" + page
        done = chromium(["--dump-dom", url], folder)
        body = re.search(r"<body([^>]*)>", done.stdout)
        failures = []
        if not body:
            failures.append("no page: " + done.stderr[-500:])
        else:
            errors = re.search(r'data-errors="([^"]*)"', body[1])
            points = re.search(r'data-points="(\d+)"', body[1])
            if not errors or errors[1]:
                failures.append(f"script errors: {errors and errors[1]}")
            if not points or int(points[1]) != EXPECTED_POINTS:
                failures.append(f"{points and points[1]} points plotted, {EXPECTED_POINTS} expected")
        failures += [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        if args.screenshots:
            os.makedirs(args.screenshots, exist_ok=True)
            for name, extra in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
                chromium([f"--screenshot={args.screenshots}/report-{name}.png", "--window-size=1280,3200", *extra, url], folder)
            chromium([f"--print-to-pdf={args.screenshots}/report.pdf", url], folder)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
