#include "cli/ptx.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cudart/fatbin.h"
#include "isa/operand_types.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tw::cli {
namespace {

struct PtxOptions {
  std::string file;
  bool quiet = false;
};

// Verifies one text: every instruction against the table, and the types of its operands. Returns the
// number of problems.
int show(const std::string& text, const std::string& name, bool quiet) {
  const Result<ptx::Module> module = ptx::parse(text, name);
  if (!module) {
    fmt::print(stderr, "{}\n", module.error().to_string());
    return 1;
  }
  int problems = 0;
  for (const ptx::Function& function : module->functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      const Result<isa::Match> match = isa::match(instruction, name);
      const Status types = match ? isa::check_operand_types(instruction, *match, function, name)
                                 : Status(match.error());
      if (types) continue;
      fmt::print(stderr, "{}\n", types.error().to_string());
      problems++;
    }
  if (!quiet) fmt::print("{}", ptx::print(*module));
  return problems;
}

// The whole file, unless it is no file of text at all.
Result<std::string> read_text(const std::string& path) {
  constexpr size_t kMostBytes = size_t(1) << 30;
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Error{.message = "this is a folder", .file = path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{.message = "cannot be read", .file = path};
  std::string text, piece(1 << 16, '\0');
  while (file.read(piece.data(), std::streamsize(piece.size())) || file.gcount() > 0) {
    text.append(piece, 0, size_t(file.gcount()));
    if (text.starts_with("\x7f"
                         "ELF"))
      return Error{.message =
                       "this is a program: take the PTX out of it with cuobjdump -ptx, or "
                       "compile with nvcc -ptx or -fatbin",
                   .file = path};
    if (text.size() > kMostBytes)
      return Error{.message = "larger than 1 GiB: that is no PTX", .file = path};
  }
  return text;
}

int run(const PtxOptions& options) {
  const Result<std::string> content = read_text(options.file);
  if (content && options.file.ends_with(".cu")) {
    fmt::print(stderr,
               "tilewright: {}: this is CUDA source: make PTX of it with nvcc -ptx "
               "-arch=compute_90, or use tilewright run\n",
               options.file);
    return 2;
  }
  if (!content) {
    fmt::print(stderr, "tilewright: {}\n", content.error().to_string());
    return 2;
  }
  const std::string& text = *content;
  if (!text.starts_with(std::string("\x50\xed\x55\xba", 4)))
    return show(text, options.file, options.quiet) == 0 ? 0 : 1;

  // A fat binary (nvcc -fatbin): every PTX text in it.
  const Result<std::vector<cudart::FatbinEntry>> entries =
      cudart::parse_fatbin({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  if (!entries) {
    fmt::print(stderr, "tilewright: {}: {}\n", options.file, entries.error().message);
    return 1;
  }
  int problems = 0;
  for (const cudart::FatbinEntry& entry : *entries) {
    if (entry.kind != cudart::FatbinEntry::Kind::ptx) continue;
    const Result<std::string> ptx = cudart::fatbin_text(entry);
    if (!ptx) {
      fmt::print(stderr, "tilewright: {}: {}\n", options.file, ptx.error().message);
      problems++;
      continue;
    }
    problems += show(*ptx, options.file, options.quiet);
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace

void add_ptx_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("ptx", "Parse, verify and pretty-print PTX");
  command->footer(
      "Examples:\n"
      "  nvcc -ptx -arch=compute_90 kernel.cu -o kernel.ptx && tilewright ptx kernel.ptx\n"
      "  tilewright ptx --quiet kernel.fatbin              only say what cannot be run");
  auto options = std::make_shared<PtxOptions>();
  command->add_option("file", options->file, "PTX text, or a fat binary with PTX in it")
      ->required();
  command->add_flag("--quiet", options->quiet, "Do not print the module");
  command->callback([options] {
    if (const int status = run(*options); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tw::cli
