// Compiling a .cu file for `tilewright run`, and the cache of compiled programs.
//
// Cache: a manifest for each (source path, nvcc, flags) lists the files that nvcc read (its -MD
// output) with the hash of their contents, and the program made from them. A run first hashes those
// files again; only when all are the same is the program used. Programs and manifests are written
// to a temporary name and renamed, so that a failed or interrupted compilation leaves nothing
// half-written. What has not been used for 30 days is removed when something is compiled. The cache
// lies in $TILEWRIGHT_CACHE, $XDG_CACHE_HOME/tilewright, or `cache` beside the command's bin/ folder
// if that can be written, or else ~/.cache/tilewright.
//
// nvcc is looked for in $TILEWRIGHT_NVCC, $PATH, /usr/local/cuda/bin, and the build tree's nvcc/bin
// (set-up's). Tested by tests/unit/cli/nvcc_test.cpp and tests/e2e.
#pragma once

#include <string>
#include <vector>

#include "util/result.h"

namespace tw::cli {

Result<std::string> find_nvcc();

struct CompileRequest {
  std::string source;              // the .cu file
  std::vector<std::string> flags;  // the user's
  uint32_t arch = 90;              // PTX for compute_<arch>, unless the flags name an architecture
};

// The path of the compiled program; nvcc's diagnostics go to stderr as they are.
Result<std::string> compile(const CompileRequest& request);

// "-O2 -DN=5 '-DNAME=a b'" -> its words; quotes and backslashes as in a shell.
Result<std::vector<std::string>> split_words(const std::string& text);

// The paths in a make rule "out: a b \<newline> c" (spaces in names are escaped by a backslash).
std::vector<std::string> parse_dependencies(const std::string& rule);

}  // namespace tw::cli
