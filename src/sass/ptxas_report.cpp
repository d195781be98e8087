#include "sass/ptxas_report.h"

#include <charconv>

namespace tw::sass {
namespace {

// The number before `unit` ("8192" before " bytes smem"), or 0.
uint64_t number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  uint64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

}  // namespace

std::vector<KernelResources> parse_ptxas_report(std::string_view text) {
  std::vector<KernelResources> kernels;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::string_view kEntry = "Compiling entry function '";
    if (const size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      kernels.emplace_back();
      kernels.back().name = name.substr(0, name.find('\''));
    } else if (kernels.empty()) {
      continue;
    } else if (line.find(" bytes stack frame") != std::string_view::npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (line.find(" registers") != std::string_view::npos) {
      kernels.back().registers = uint32_t(number_before(line, " registers"));
      kernels.back().barriers = uint32_t(number_before(line, " barriers"));
      kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

}  // namespace tw::sass
