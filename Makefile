# The commands of the project in one place; CMake and its presets (CMakePresets.json) do the work.
# `make` alone builds the release preset. Every target that builds runs scripts/setup first, which
# takes a tenth of a second when nothing is missing.
# Tested by: .ci/run (make test).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := release
MAKEFLAGS += --no-print-directory

# ccache is used where it is installed; JOBS=N limits the parallel jobs.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache)
ifeq ($(CMAKE_CXX_COMPILER_LAUNCHER),)
unexport CMAKE_CXX_COMPILER_LAUNCHER
endif
JOBS ?= $(shell nproc)
source_folders := $(wildcard src include kernels examples bench fuzz tests)
sources = $(shell find $(source_folders) -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')

.PHONY: release dev tsan fuzz setup install demo test test-sanitized bench format format-check tidy clean help

release dev tsan: setup ## build one preset into build/<preset> (release is what plain `make` builds)
	@cmake --preset $@ --log-level=WARNING
	@cmake --build --preset $@ -j $(JOBS)

setup: ## install what is missing (apt; nvcc from PyPI when there is none)
	@scripts/setup

install: setup ## put the command into PREFIX (default /usr/local): bin, lib, include
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target tilewright tilewright_engine -j $(JOBS)
	@cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

demo: setup ## build the command, then run the tiled GEMM of the lessons on the CPU, checked and timed
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target tilewright -j $(JOBS)
	build/release/bin/tilewright run examples/demo_gemm.cu

test: ## the whole suite, in the release build
	@scripts/setup test
	@scripts/run_tests release

test-sanitized: ## the whole suite in the sanitizer build (ASan + UBSan, warnings are errors)
	@scripts/setup test
	@scripts/run_tests dev

bench: release ## speed of the engine (Google Benchmark)
	build/release/bench/engine

fuzz: ## build the fuzz targets with clang-19 and run each for FUZZ_SECONDS (default 60), JOBS at a time
	@scripts/setup tools
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build --preset fuzz -j $(JOBS) --target $(patsubst fuzz/%.cpp,fuzz_%,$(wildcard fuzz/*.cpp))
	@printf '%s\n' build/fuzz/bin/fuzz_* | sed 's|.*/fuzz_||' | xargs -P $(JOBS) -I{} bash -c ' \
	  mkdir -p build/fuzz/corpus/{}; result=passed; \
	  build/fuzz/bin/fuzz_{} -max_total_time=$(or $(FUZZ_SECONDS),60) -artifact_prefix=build/fuzz/ -print_final_stats=1 \
	    build/fuzz/corpus/{} $$(ls -d fuzz/seeds/{} 2>/dev/null) > build/fuzz/{}.log 2>&1 || result=FAILED; \
	  echo "{}: $$result, $$(grep -oE "Done [0-9]+ runs in [0-9]+ second" build/fuzz/{}.log)s, build/fuzz/{}.log"; \
	  test $$result = passed'

format: ## lay out all sources by .clang-format
	@scripts/setup tools
	@clang-format-19 -i $(sources)

format-check: ## fail when a source is not laid out by .clang-format
	@clang-format-19 --dry-run -Werror $(sources)

tidy: setup ## clang-tidy over src/ (checks: .clang-tidy)
	@scripts/setup tools
	@cmake --preset dev --log-level=WARNING >/dev/null
	@run-clang-tidy-19 -quiet -p build/dev -j $(JOBS) "$(CURDIR)/src/.*\.cpp$$"

clean: ## remove the build trees, but keep build/nvcc (the compiler that setup fetched)
	@find build -mindepth 1 -maxdepth 1 ! -name nvcc -exec rm -rf {} + 2>/dev/null || true

help: ## this list
	@grep -hE '^[a-z-]+( [a-z-]+)*:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | \
	  while IFS=$$'\t' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done
