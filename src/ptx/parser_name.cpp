// What a name means where it stands: registers, variables and labels in nested scopes.
//
// The facts about a name are one record, found by its number; entering a scope is free, leaving it
// undoes what the scope bound. Registers come into being at their first use, so `%r<16777216>`
// costs nothing, and Function::registers lists exactly what is used, in the order of first use.
//
// A second register or variable of one name gets a number behind its name, so that the whole body
// can be printed as one scope. A name is also changed when it would hide a module-level symbol that
// the same body uses.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ptx/parser_state.h"

namespace tw::ptx {
namespace {

// https://docs.nvidia.com/cuda/parallel-thread-execution/#special-registers, sorted; without the
// numbered families below. Components (.x) are read separately.
constexpr std::string_view kSpecial[] = {
    "%aggr_smem_size",
    "%clock",
    "%clock64",
    "%clock_hi",
    "%cluster_ctaid",
    "%cluster_ctarank",
    "%cluster_nctaid",
    "%cluster_nctarank",
    "%clusterid",
    "%ctaid",
    "%current_graph_exec",
    "%dynamic_smem_size",
    "%globaltimer",
    "%globaltimer_hi",
    "%globaltimer_lo",
    "%gridid",
    "%is_explicit_cluster",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_ge",
    "%lanemask_gt",
    "%lanemask_le",
    "%lanemask_lt",
    "%nclusterid",
    "%nctaid",
    "%nsmid",
    "%ntid",
    "%nwarpid",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_end",
    "%smid",
    "%tid",
    "%total_smem_size",
    "%warpid",
    "WARP_SZ",
};

// "%pm" + 0..7 and "%envreg" + 0..31; "%pm0_64" .. "%pm7_64".
bool numbered(std::string_view name, std::string_view prefix, unsigned limit) {
  if (name.substr(0, prefix.size()) != prefix) return false;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.empty() || digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')) return false;
  unsigned value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value < limit;
}

bool is_special(std::string_view name) {
  if (name[0] != '%' && name != "WARP_SZ") return false;
  if (std::binary_search(std::begin(kSpecial), std::end(kSpecial), name)) return true;
  if (numbered(name, "%pm", 8) || numbered(name, "%envreg", 32)) return true;
  return name.size() == 7 && name.substr(4) == "_64" && numbered(name.substr(0, 4), "%pm", 8);
}

}  // namespace

uint32_t Parser::id(std::string_view name) {
  const uint32_t number = names_.id(name);
  if (number == facts_.size()) {
    facts_.emplace_back();
    facts_.back().special = is_special(name);
  }
  return number;
}

void Parser::begin_function() {
  ++function_number_;
  scopes_.clear();
  scopes_.emplace_back();  // depth 0: parameters
  vectors_.clear();
  hidden_ranges_.clear();
  references_.clear();
  inner_ranges_ = 0;
}

void Parser::enter_scope() {
  scopes_.emplace_back();
  scopes_.back().first_reference = references_.size();
}

bool Parser::leave_scope() {
  Scope& scope = scopes_.back();
  const uint32_t at_depth = depth();
  // References to a label of this scope are settled now; the others wait for the scope around it.
  size_t kept = scope.first_reference;
  for (size_t i = kept; i < references_.size(); ++i) {
    const LocalLabel& label = facts_[references_[i].name].label;
    if (label.function == function_number_ && label.kind != LocalLabel::Kind::none &&
        label.depth == at_depth) {
      if (!resolve(references_[i], label)) return false;
    } else {
      references_[kept++] = references_[i];
    }
  }
  references_.resize(kept);
  for (size_t i = scope.undo.size(); i-- > 0;) {
    const Scope::Undo& undo = scope.undo[i];
    NameFacts& f = facts_[undo.name];
    switch (undo.what) {
      case Scope::Undo::What::local: f.local = undo.local; break;
      case Scope::Undo::What::label: f.label = undo.label; break;
      case Scope::Undo::What::range:
        f.range = undo.range;
        if (at_depth > 1) --inner_ranges_;
        break;
    }
  }
  scopes_.pop_back();
  return true;
}

void Parser::bind(uint32_t name, Local meaning) {
  NameFacts& f = facts_[name];
  meaning.function = function_number_;
  scopes_[meaning.depth].undo.push_back({Scope::Undo::What::local, name, f.local, {}, {}});
  f.local = meaning;
}

bool Parser::declare(const Token& name, Local meaning) {
  const uint32_t n = id(name.text);
  const NameFacts& f = facts_[n];
  if (f.special)
    return fail(name, fmt::format("'{}' is a special register: choose another name", name.text));
  meaning.depth = static_cast<uint16_t>(depth());
  if (f.local.function == function_number_ && f.local.kind != Local::Kind::none &&
      f.local.depth == meaning.depth)
    return fail(name, fmt::format("'{}' is already declared in this scope: choose another name",
                                  name.text));
  bind(n, meaning);
  return true;
}

uint32_t Parser::made_name(uint32_t name, bool label) {
  if (facts_[name].suffix_in != function_number_) {
    facts_[name].suffix_in = function_number_;
    facts_[name].suffix = 0;
  }
  for (;;) {
    const uint32_t number = ++facts_[name].suffix;
    const uint32_t made = names_.id_of_made(fmt::format("{}_{}", names_.text(name), number));
    if (made == facts_.size()) {
      facts_.emplace_back();
      facts_.back().special = is_special(names_.text(made));
    }
    const NameFacts& f = facts_[made];
    if (label ? f.label_taken_in != function_number_
              : f.taken_in != function_number_ && !f.special && f.module_symbol.index == kNone)
      return made;
  }
}

uint32_t Parser::claim(uint32_t name, uint32_t at_depth) {
  const NameFacts& f = facts_[name];
  const bool hides =
      (at_depth > 1 && f.module_symbol.index != kNone) || f.module_use_in == function_number_;
  if (f.taken_in == function_number_ || hides) name = made_name(name, false);
  facts_[name].taken_in = function_number_;
  return name;
}

uint32_t Parser::claim_label(uint32_t name) {
  if (facts_[name].label_taken_in == function_number_) name = made_name(name, true);
  facts_[name].label_taken_in = function_number_;
  return name;
}

Local* Parser::local(uint32_t name) {
  const NameFacts& f = facts_[name];
  Local found;
  if (f.local.function == function_number_ && f.local.kind != Local::Kind::none) {
    // A range of a nested scope may hide a register of an outer one, any range a parameter.
    if ((inner_ranges_ == 0 && f.local.depth != 0) || !from_range(name, f.local.depth + 1u, found))
      return &facts_[name].local;
  } else if (f.special || !from_range(name, 0, found)) {
    return nullptr;
  }
  bind(name, found);
  return &facts_[name].local;
}

bool Parser::declare_range(const Token& name, Type type, uint64_t count) {
  const uint32_t n = id(name.text);
  NameFacts& f = facts_[n];
  const uint32_t at_depth = depth();
  if (f.range.function == function_number_ && f.range.count != 0 && f.range.depth == at_depth)
    return fail(
        name,
        fmt::format("'{}<...>' is already declared in this scope: choose another name", name.text));
  scopes_.back().undo.push_back({Scope::Undo::What::range, n, {}, {}, f.range});
  uint32_t outer = kNone;
  if (f.range.function == function_number_ && f.range.count != 0) {
    outer = static_cast<uint32_t>(hidden_ranges_.size());
    hidden_ranges_.push_back(f.range);
  }
  f.range = Range{function_number_, type, static_cast<uint16_t>(at_depth),
                  static_cast<uint32_t>(count), outer};
  if (at_depth > 1) ++inner_ranges_;
  return true;
}

// Does a `prefix<count>` at depth `from_depth` or deeper declare `name`? The deepest one counts.
bool Parser::from_range(uint32_t name, uint32_t from_depth, Local& found) {
  const std::string_view text = names_.text(name);
  bool any = false;
  uint64_t value = 0, unit = 1;
  for (size_t digits = 1; digits <= 8 && digits < text.size(); ++digits) {
    const char c = text[text.size() - digits];
    if (c < '0' || c > '9') break;
    value += static_cast<uint64_t>(c - '0') * unit;
    unit *= 10;
    if (c == '0' && digits > 1) continue;  // %r<100> does not declare %r007
    const uint32_t prefix = names_.find(text.substr(0, text.size() - digits));
    if (prefix == NameTable::kEmpty) continue;
    const Range* range = &facts_[prefix].range;
    if (range->function != function_number_ || range->count == 0) continue;
    while (value >= range->count && range->outer != kNone) range = &hidden_ranges_[range->outer];
    if (value >= range->count || range->depth < from_depth) continue;
    if (any && range->depth <= found.depth) continue;
    any = true;
    found.kind = Local::Kind::declared;
    found.type = range->type;
    found.depth = range->depth;
  }
  return any;
}

uint32_t Parser::new_register(uint32_t name, Type type, uint32_t at_depth) {
  // Depth 0: a parameter in a register, whose name was taken when it was declared.
  const uint32_t unique = at_depth == 0 ? name : claim(name, at_depth);
  function_->registers.push_back({std::string(names_.text(unique)), type});
  return static_cast<uint32_t>(function_->registers.size()) - 1;
}

// Component i of a vector register, a register of its own: "%v.x" becomes "%v_x".
uint32_t Parser::component(VectorRegister& vector, uint32_t base, uint32_t at_depth, uint32_t i) {
  if (vector.registers[i] == kNone) {
    const uint32_t name = names_.id_of_made(fmt::format("{}_{}", names_.text(base), "xyzw"[i]));
    if (name == facts_.size()) facts_.emplace_back();
    vector.registers[i] = new_register(name, vector.type, at_depth);
  }
  return vector.registers[i];
}

bool Parser::declare_label(const Token& name, LocalLabel::Kind kind, uint32_t index,
                           std::string& unique) {
  const uint32_t n = id(name.text);
  const uint16_t at_depth = static_cast<uint16_t>(depth());
  {
    const LocalLabel& label = facts_[n].label;
    if (label.function == function_number_ && label.kind != LocalLabel::Kind::none &&
        label.depth == at_depth)
      return fail(name,
                  fmt::format("label '{}' is already defined in this scope: choose another name",
                              name.text));
  }
  unique = names_.text(claim_label(n));
  NameFacts& f = facts_[n];
  scopes_.back().undo.push_back({Scope::Undo::What::label, n, {}, f.label, {}});
  f.label = LocalLabel{function_number_, kind, at_depth, index};
  return true;
}

bool Parser::resolve(const LabelReference& reference, const LocalLabel& label) {
  using Use = LabelReference::Kind;
  const std::string_view text = names_.text(reference.name);
  if (reference.kind == Use::table_entry) {
    if (label.kind != LocalLabel::Kind::label)
      return fail(reference.line, reference.column,
                  fmt::format("'{}' is not a label: list labels in .branchtargets", text));
    function_->branch_tables[reference.index].labels[reference.element] = label.index;
    return true;
  }
  Operand& operand = function_->instructions[reference.index].operands[reference.element];
  operand.index = label.index;
  switch (reference.kind) {
    case Use::branch:
      if (label.kind != LocalLabel::Kind::label)
        return fail(reference.line, reference.column,
                    fmt::format("'{}' is not a label: branch to a label", text));
      break;
    case Use::branch_table:
      if (label.kind != LocalLabel::Kind::branch_table)
        return fail(reference.line, reference.column,
                    fmt::format("'{}' is not a table: name a .branchtargets list", text));
      operand.name = function_->branch_tables[label.index].name;
      break;
    case Use::call:
      if (label.kind != LocalLabel::Kind::prototype)
        return fail(reference.line, reference.column,
                    fmt::format("'{}' is not a prototype: name a .callprototype", text));
      operand.name = function_->prototypes[label.index].name;
      break;
    case Use::table_entry: break;
  }
  return true;
}

}  // namespace tw::ptx
