#include "report/shared_widths.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tw::report {
namespace {

struct SharedRef {
  size_t site = 0;
  uint32_t instruction = 0;
  bool store = false;
  uint32_t width = 0;
  int64_t offset = 0;
};

// Accesses that ptxas may join: same basic block (and no barrier or store between), same base, same
// value of the base register, same direction and width.
using GroupKey = std::tuple<uint32_t, int, uint32_t, uint32_t, bool, uint32_t>;

// ptxas joins plain loads and stores only.
bool may_be_joined(const ptx::Instruction& in) {
  return in.opcode != "ldmatrix" && in.opcode != "stmatrix" && in.opcode != "wmma";
}

bool is_shared(Traffic t) { return t == Traffic::shared_load || t == Traffic::shared_store; }

void note_definitions(const ptx::Operand& o, uint32_t at, std::map<uint32_t, uint32_t>& defined) {
  if (o.kind == ptx::Operand::Kind::reg) defined[o.reg] = at;
  if (o.kind == ptx::Operand::Kind::vector || o.kind == ptx::Operand::Kind::pair)
    for (const ptx::Operand& e : o.elements) note_definitions(e, at, defined);
}

std::map<GroupKey, std::vector<SharedRef>> group(const ProgramRecord& program,
                                                 const ptx::Function& kernel) {
  std::map<uint32_t, size_t> site_of;  // instruction -> site
  for (size_t i = 0; i < program.sites.size(); ++i) {
    const SiteInfo& s = program.sites[i];
    if (s.function == kernel.name && is_shared(s.traffic) &&
        s.text.find(".shared") != std::string::npos)
      site_of.try_emplace(s.instruction, i);
  }
  const std::vector<uint32_t> blocks = basic_blocks(kernel);
  std::map<GroupKey, std::vector<SharedRef>> groups;
  std::map<uint32_t, uint32_t> defined;
  uint32_t epoch = 0;
  bool last_was_store = false;
  for (uint32_t i = 0; i < kernel.instructions.size(); ++i) {
    const ptx::Instruction& in = kernel.instructions[i];
    if (in.opcode == "bar" || in.opcode == "barrier" || in.opcode == "atom" || in.opcode == "red" ||
        in.opcode == "membar" || in.opcode == "fence" || in.opcode == "call")
      ++epoch;
    const auto site = site_of.find(i);
    if (site != site_of.end() && may_be_joined(in)) {
      const SiteInfo& s = program.sites[site->second];
      const bool store = s.traffic == Traffic::shared_store;
      if (store != last_was_store) ++epoch;
      last_was_store = store;
      for (const ptx::Operand& o : in.operands) {
        if (o.kind != ptx::Operand::Kind::address || o.elements.empty()) continue;
        const ptx::Operand& base = o.elements[0];
        const uint32_t id = base.kind == ptx::Operand::Kind::reg ? base.reg : base.symbol.index;
        const uint32_t version =
            base.kind == ptx::Operand::Kind::reg && defined.count(id) ? defined[id] + 1 : 0;
        const int64_t offset =
            o.offset + (base.kind == ptx::Operand::Kind::symbol ? base.offset : 0);
        groups[{blocks[i] << 8 | (epoch & 255), int(base.kind), id, version, store, s.width}]
            .push_back({site->second, i, store, s.width, offset});
        break;
      }
    }
    if (!in.operands.empty() && in.opcode != "st") note_definitions(in.operands[0], i, defined);
  }
  return groups;
}

bool mentions(const ptx::Operand& o, uint32_t reg) {
  return (o.kind == ptx::Operand::Kind::reg && o.reg == reg) ||
         std::any_of(o.elements.begin(), o.elements.end(),
                     [&](const ptx::Operand& e) { return mentions(e, reg); });
}

// What ptxas makes an ATOMS.POPC.INC of: a shared 32-bit counter goes up by one, and nothing wants
// to know what it was.
bool counts_up(const ptx::Instruction& in, const ptx::Function& kernel) {
  const auto has = [&](std::string_view word) {
    return std::find(in.modifiers.begin(), in.modifiers.end(), word) != in.modifiers.end();
  };
  if ((!has("shared") && !has("shared::cta")) || (!has("u32") && !has("s32")) ||
      in.operands.empty())
    return false;
  const ptx::Operand& by = in.operands.back();
  if (by.kind != ptx::Operand::Kind::integer) return false;
  if (!(has("add") && uint32_t(by.bits) == 1) && !(has("inc") && uint32_t(by.bits) == ~0u))
    return false;
  const ptx::Operand& result = in.operands.front();
  if (in.opcode == "red" || result.kind == ptx::Operand::Kind::sink) return true;
  if (result.kind != ptx::Operand::Kind::reg) return false;
  return std::none_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const ptx::Instruction& other) {
        return &other != &in &&
               std::any_of(other.operands.begin(), other.operands.end(),
                           [&](const ptx::Operand& o) { return mentions(o, result.reg); });
      });
}

void find_counted_increments(const ProgramRecord& program, const ptx::Function& kernel,
                             const sass::KernelCode* code, std::vector<WidthRule>& rules) {
  for (size_t i = 0; i < program.sites.size(); ++i) {
    const SiteInfo& s = program.sites[i];
    if (s.traffic != Traffic::shared_atomic || s.function != kernel.name ||
        s.instruction >= kernel.instructions.size())
      continue;
    const bool counted =
        code != nullptr
            ? std::find(code->counted_increments.begin(), code->counted_increments.end(),
                        s.instruction) != code->counted_increments.end()
            : counts_up(kernel.instructions[s.instruction], kernel);
    if (counted) rules[i].requests = {0, 1, 0};
  }
}

uint32_t factor_index(uint32_t factor) { return factor >= 4 ? 2 : factor >= 2 ? 1 : 0; }

void read_widths(const std::map<GroupKey, std::vector<SharedRef>>& groups,
                 const sass::KernelCode& code, std::vector<WidthRule>& rules) {
  std::map<uint32_t, std::vector<uint32_t>>
      widths;  // instruction -> widths of its machine instructions
  for (const sass::SharedAccess& a : code.shared) widths[a.instruction].push_back(a.width);
  for (const auto& [key, members] : groups) {
    for (const SharedRef& m : members) {
      WidthRule& rule = rules[m.site];
      rule.requests = {};
      const auto found = widths.find(m.instruction);
      if (found == widths.end()) continue;  // joined to a neighbour, or removed
      uint32_t copies[3] = {}, covered = 0;
      bool clones = true;
      for (uint32_t width : found->second) {
        const uint32_t factor = std::max(1u, width / std::max(1u, m.width));
        ++copies[factor_index(factor)];
        covered += factor;
        // Its neighbours were joined to it if they have no machine instruction of their own.
        const int64_t reach = int64_t(width);
        const auto joined = std::count_if(members.begin(), members.end(), [&](const SharedRef& o) {
          return o.instruction != m.instruction && o.offset > m.offset - reach &&
                 o.offset < m.offset + reach && widths.count(o.instruction) == 0;
        });
        if (joined + 1 < int64_t(factor)) clones = false;
      }
      const double all = double(found->second.size());
      const bool one_width = copies[0] == all || copies[1] == all || copies[2] == all;
      rule.estimated = !one_width || !clones;
      // Clones of one instruction: each execution is one of them. Unrolled: they share the
      // iterations.
      for (int i = 0; i < 3; ++i)
        rule.requests[size_t(i)] = copies[i] / (clones ? all : double(covered));
    }
  }
}

void model_widths(const std::map<GroupKey, std::vector<SharedRef>>& groups,
                  const std::vector<SiteCounts>& counts, std::vector<WidthRule>& rules) {
  for (const auto& [key, group_members] : groups) {
    std::vector<SharedRef> members = group_members;
    std::sort(members.begin(), members.end(),
              [](const SharedRef& a, const SharedRef& b) { return a.offset < b.offset; });
    for (const SharedRef& m : members) rules[m.site].estimated = true;
    for (size_t i = 0; i < members.size();) {
      size_t taken = 1;
      for (uint32_t factor : {4u, 2u}) {
        const uint32_t wide = members[i].width * factor;
        if (wide > 16 || wide < 4 || i + factor > members.size() ||
            (counts[members[i].site].address_bits & (wide - 1)) != 0)
          continue;
        bool adjacent = true;
        for (size_t j = 1; j < factor; ++j)
          adjacent = adjacent &&
                     members[i + j].offset == members[i].offset + int64_t(j * members[i].width);
        if (!adjacent) continue;
        for (size_t j = 0; j < factor; ++j) rules[members[i + j].site].requests = {};
        rules[members[i].site].requests[factor_index(factor)] = 1;
        taken = factor;
        break;
      }
      i += taken;
    }
  }
}

}  // namespace

std::vector<uint32_t> basic_blocks(const ptx::Function& function) {
  std::vector<uint32_t> blocks(function.instructions.size(), 0);
  std::vector<bool> starts(function.instructions.size() + 1, false);
  for (const ptx::Label& l : function.labels)
    if (l.instruction < starts.size()) starts[l.instruction] = true;
  uint32_t block = 0;
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    if (starts[i]) ++block;
    blocks[i] = block;
    const std::string& op = function.instructions[i].opcode;
    if (op == "bra" || op == "brx" || op == "ret" || op == "exit") ++block;
  }
  return blocks;
}

std::vector<double> block_copies(const ProgramRecord& program, const ptx::Function& kernel,
                                 const sass::KernelCode& code) {
  const std::vector<uint32_t> blocks = basic_blocks(kernel);
  std::map<uint32_t, uint32_t> copies;  // block -> fewest
  for (const SiteInfo& s : program.sites) {
    if (s.function != kernel.name || (s.traffic == Traffic::none && !s.op.ends_with("fma")) ||
        s.instruction >= code.sass_of_ptx.size())
      continue;
    const uint32_t n = code.sass_of_ptx[s.instruction];
    if (n == 0) continue;
    uint32_t& fewest = copies.try_emplace(blocks[s.instruction], n).first->second;
    fewest = std::min(fewest, n);
  }
  std::vector<double> result;
  for (const uint32_t block : blocks) {
    const auto found = copies.find(block);
    result.push_back(found == copies.end() ? 1.0 : double(found->second));
  }
  return result;
}

std::vector<WidthRule> shared_width_rules(const ProgramRecord& program,
                                          const std::vector<SiteCounts>& counts,
                                          const ptx::Function& kernel,
                                          const sass::KernelCode* code) {
  std::vector<WidthRule> rules(program.sites.size());
  const auto groups = group(program, kernel);
  if (code != nullptr && code->sass_of_ptx.size() != kernel.instructions.size()) code = nullptr;
  find_counted_increments(program, kernel, code, rules);
  if (code != nullptr)
    read_widths(groups, *code, rules);
  else
    model_widths(groups, counts, rules);
  // What ptxas makes of wmma.load and wmma.store differs from the loads and stores counted here.
  for (size_t i = 0; i < program.sites.size(); ++i)
    if (program.sites[i].text.starts_with("wmma") && is_shared(program.sites[i].traffic))
      rules[i].estimated = true;
  return rules;
}

}  // namespace tw::report
