#include "report/float_rules.h"

#include <algorithm>
#include <string_view>

#include "report/shared_widths.h"

namespace tw::report {
namespace {

constexpr size_t kFirstHalf = 6;  // of kFloatOps

bool calculates(const SiteInfo& s) {
  for (const char* category :
       {"fp32", "fp64", "fp16", "bf16", "special function", "convert", "integer"})
    if (s.category == category) return true;
  return false;
}

// "fma.rn.f16x2" of "@%p1 fma.rn.f16x2 %r1, ...".
std::string_view spelling(const SiteInfo& s) {
  std::string_view text = s.text;
  if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  return text.substr(0, text.find(' '));
}

bool on_halves(const SiteInfo& s) { return spelling(s).find("f16") != std::string_view::npos; }

FloatRule plain(size_t own, const sass::FloatCode& code) {
  FloatRule rule;
  size_t kinds = 0, most = 0;
  for (size_t i = 0; i < code.operations.size(); ++i) {
    kinds += code.operations[i] != 0;
    if (code.operations[i] > code.operations[most]) most = i;
  }
  if (kinds == 0) return rule;  // joined to another, or removed
  rule.operations[code.operations[own] != 0 ? own : most] = 1;
  rule.estimated = kinds > 1 && code.operations[own] == 0;
  return rule;
}

FloatRule expansion(const SiteInfo& s, const sass::FloatCode& code, double block_copies) {
  FloatRule rule;
  const double in_one = spelling(s).find("f16x2") != std::string_view::npos ? 2 : 1;
  const double copies = code.special != 0 ? code.special / in_one : block_copies;
  double all = 0;
  for (size_t i = 0; i < code.operations.size(); ++i)
    all += rule.operations[i] = code.operations[i] / copies;
  rule.estimated = code.conditional || (code.special == 0 && all > 1);
  return rule;
}

}  // namespace

std::vector<FloatRule> float_rules(const ProgramRecord& program, const ptx::Function* kernel,
                                   const sass::KernelCode* code) {
  const bool known = kernel != nullptr && code != nullptr &&
                     code->floats.size() == kernel->instructions.size() &&
                     code->sass_of_ptx.size() == kernel->instructions.size();
  const std::vector<double> copies =
      known ? block_copies(program, *kernel, *code) : std::vector<double>();
  std::vector<FloatRule> rules(program.sites.size());
  for (size_t i = 0; i < program.sites.size(); ++i) {
    const SiteInfo& s = program.sites[i];
    if (!calculates(s)) continue;
    const size_t own =
        size_t(std::find(sass::kFloatOps.begin(), sass::kFloatOps.end(), std::string_view(s.op)) -
               sass::kFloatOps.begin());
    if (!known || s.function != kernel->name || s.instruction >= code->floats.size()) {
      if (own < sass::kFloatOps.size()) rules[i].operations[own] = 1;
      rules[i].estimated = s.category != "integer";
      continue;
    }
    sass::FloatCode floats = code->floats[s.instruction];
    if (!on_halves(s))  // an HFMA2 is how ptxas loads a constant
      std::fill(floats.operations.begin() + kFirstHalf, floats.operations.end(), 0);
    rules[i] = own < sass::kFloatOps.size() ? plain(own, floats)
                                            : expansion(s, floats, copies[s.instruction]);
  }
  return rules;
}

}  // namespace tw::report
