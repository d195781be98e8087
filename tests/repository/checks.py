#!/usr/bin/env python3
"""Rules about the tree itself that no compiler checks. Each check returns a list of findings, one
line each, empty when the rule is kept; `checks.py NAME [--root DIR] ...` prints them and exits with 1.

  layers    a layer of src/ includes only layers that it names (closure of DEPENDS in its
            CMakeLists.txt), and names only layers that come before it in src/CMakeLists.txt
  text      no path of one machine, no trailing white space, source files below the agreed length
  headers   a source opens with a comment that says why it is there; a header has #pragma once;
            a file named after "Tested by" exists
  links     a relative link in a Markdown file leads to a file of the tree
  compile   every header compiles when it is included alone (and with warnings as errors)

Problem: such rules are kept for a month and then forgotten. Choice: a CTest test for each, derived
from the build files where the fact is written already. Tested by: checks_test.py, which plants a
violation of each rule.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE_FOLDERS = ("src", "include", "kernels", "examples", "bench", "fuzz", "tests")
SOURCE_SUFFIXES = (".cpp", ".h", ".cu", ".cuh", ".inc")
TEXT_SUFFIXES = SOURCE_SUFFIXES + (".md", ".txt", ".cmake", ".py", ".sh", ".json", ".yml", ".ptx", "")
MAX_SOURCE_LINES = 800

# Folders that exist on one machine only, and the registries' hosts.
MACHINE_PATHS = re.compile(
    r"(?<![\w.$}>])/(?:home|root|work|farm|Users)/\w|/[.]library\b|"
    r"\bpypi[.]org|pythonhosted[.]org|deb[.]debian[.]org")


def files(root, folders=None, suffixes=None):
    """The project's files: what git knows, or would add (all files where there is no git)."""
    git = shutil.which("git") and subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if git and git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name]
    else:
        names = [str(p.relative_to(root)) for p in pathlib.Path(root).rglob("*") if p.is_file()]
        names = [name for name in names if not name.startswith(("build/", ".git/"))]
    for name in sorted(set(names)):
        path = pathlib.Path(root, name)
        if folders and name.split("/")[0] not in folders:
            continue
        if suffixes is not None and path.suffix not in suffixes:
            continue
        if path.is_file():
            yield name, path


def read(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None  # binary test data


def layer_order(root):
    text = pathlib.Path(root, "src/CMakeLists.txt").read_text(encoding="utf-8")
    return re.findall(r"^\s*add_subdirectory\((\w+)\)", text, re.M)


def layer_depends(root, layer):
    path = pathlib.Path(root, "src", layer, "CMakeLists.txt")
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8")) if path.exists() else ""
    used = set(re.findall(r"\btw_(\w+)", text)) - {layer}
    return sorted(name for name in used if pathlib.Path(root, "src", name).is_dir())


def check_layers(root):
    findings = []
    order = layer_order(root)
    closure = {}
    for layer in order:
        closure[layer] = {layer}
        for used in layer_depends(root, layer):
            if used not in closure:
                findings.append(f"src/{layer}/CMakeLists.txt: tw_{used} is no layer listed before "
                                f"{layer} in src/CMakeLists.txt")
                continue
            closure[layer] |= closure[used]
    for name, path in files(root, ("src",), SOURCE_SUFFIXES):
        parts = name.split("/")
        if len(parts) < 3:
            continue
        layer = parts[1]
        if layer not in closure:
            findings.append(f"{name}: src/{layer} is not listed in src/CMakeLists.txt")
            continue
        for number, line in enumerate((read(path) or "").splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*"([\w-]+)/', line)
            if include and include[1] in order and include[1] not in closure[layer]:
                findings.append(f"{name}:{number}: {layer} includes {include[1]}, which is not "
                                f"among what src/{layer}/CMakeLists.txt depends on")
            if include and include[1] not in order and pathlib.Path(root, "src", include[1]).is_dir():
                findings.append(f"{name}:{number}: src/{include[1]} is not listed in src/CMakeLists.txt")
    return findings


def check_text(root):
    findings = []
    for name, path in files(root):
        if path.suffix not in TEXT_SUFFIXES:
            continue
        text = read(path)
        if text is None:
            continue
        lines = text.splitlines()
        if path.suffix in SOURCE_SUFFIXES and len(lines) > MAX_SOURCE_LINES:
            findings.append(f"{name}: {len(lines)} lines; split it before {MAX_SOURCE_LINES}")
        own = path.suffix in SOURCE_SUFFIXES + (".py", ".sh", ".cmake", ".md")
        for number, line in enumerate(lines, 1):
            machine = MACHINE_PATHS.search(line)
            if machine:
                findings.append(f"{name}:{number}: a path or host of one machine: {machine[0]}")
            if own and line != line.rstrip():
                findings.append(f"{name}:{number}: white space at the end of the line")
    return findings


def check_headers(root):
    findings = []
    for name, path in files(root, SOURCE_FOLDERS, SOURCE_SUFFIXES):
        text = read(path)
        if not text:
            continue
        explained = name.startswith("tests/") or text.startswith(("//", "/*"))
        if path.suffix == ".cpp" and path.with_suffix(".h").exists():
            explained = True  # the header's comment speaks for both
        if not explained:
            findings.append(f"{name}:1: opens with no comment that says why this file is there")
        if path.suffix in (".h", ".cuh") and "#pragma once" not in text:
            findings.append(f"{name}: no #pragma once")
        comment = re.match(r"(?:[ \t]*//.*\n|\s*\n)*", text)[0]
        tested = re.search(r"Tested by:?((?:.*\n?)*)", comment)
        if not tested:
            continue
        for target in re.findall(r"\b(?:tests|fuzz|bench|kernels|scripts)/[\w./*<>-]*[\w*]", tested[1]):
            if "<" not in target and not list(pathlib.Path(root).glob(target)):
                findings.append(f"{name}: tested by {target}, which does not exist")
    return findings


def check_links(root):
    findings = []
    for name, path in files(root, suffixes=(".md",)):
        for number, line in enumerate((read(path) or "").splitlines(), 1):
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"`[^`]*`", "", line)):
                if not re.match(r"\w+:", target) and not (path.parent / target).exists():
                    findings.append(f"{name}:{number}: links to {target}, which does not exist")
    return findings


def check_compile(root, compiler, flags):
    """Compiles a one-line file per header; only these folders promise self-contained headers."""
    def compile_alone(name):
        c_too = name == "include/tilewright/tilewright.h"
        findings = []
        for language, standard in [("c++", "c++20")] + ([("c", "c11")] if c_too else []):
            driver = compiler if language == "c++" else "cc"
            run = subprocess.run(
                [driver, "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra",
                 "-Werror", "-Wno-psabi", "-I", "src", "-I", "include", *flags, "-include", name,
                 os.devnull], cwd=root, capture_output=True, text=True, check=False)
            if run.returncode:
                findings.append(f"{name}: does not compile alone as {language}:\n{run.stderr.strip()}")
        return findings

    names = [name for name, _ in files(root, ("src", "include"), (".h",))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [finding for result in pool.map(compile_alone, names) for finding in result]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check", choices=["layers", "text", "headers", "links", "compile"])
    parser.add_argument("--root", default=str(pathlib.Path(__file__).resolve().parents[2]))
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--system-include", default="", help="a folder of system headers, for compile")
    arguments = parser.parse_args()
    if arguments.check == "compile":
        system = arguments.system_include
        findings = check_compile(
            arguments.root, arguments.compiler, ["-isystem", system] if system else [])
    else:
        findings = globals()["check_" + arguments.check](arguments.root)
    print("\n".join(findings) if findings else f"{arguments.check}: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
