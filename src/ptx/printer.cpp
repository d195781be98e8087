// Module -> PTX text.
//
// The text is normalised, not the original one: a body is one scope, comments and debug sections
// are gone. What makes parse(print(m)) == m: registers and locations are numbered by first use, so
// they need no order of their own here; variables and functions are printed in their order, and if
// one refers to another that follows, all of them are declared first; a `.loc` row that an
// `inlined_at` means is printed again when a row of the same place came in between.
//
// Tested by tests/unit/ptx: ptx_test.h prints and parses again whatever a test parses.
#include "ptx/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace tw::ptx {
namespace {

using Out = std::back_insert_iterator<std::string>;

template <class... Args>
void write(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(Out(out), format, std::forward<Args>(args)...);
}

std::string_view linkage_text(Linkage linkage) {
  switch (linkage) {
    case Linkage::internal: return "";
    case Linkage::visible: return ".visible ";
    case Linkage::weak: return ".weak ";
    case Linkage::external: return ".extern ";
    case Linkage::common: return ".common ";
  }
  return "";
}

std::string_view symbol_name(const Module& m, const Function* f, const SymbolRef& s) {
  switch (s.kind) {
    case SymbolRef::Kind::module_variable: return m.variables[s.index].name;
    case SymbolRef::Kind::function: return m.functions[s.index].name;
    case SymbolRef::Kind::function_variable: return f->variables[s.index].name;
    case SymbolRef::Kind::parameter: return f->parameters[s.index].name;
    case SymbolRef::Kind::return_parameter: return f->returns[s.index].name;
  }
  return "";
}

void print_addend(std::string& out, int64_t offset) {
  if (offset != 0) write(out, "+{}", offset);  // "[%r1+-4]": ptxas takes no bare minus
}

void print_declaration(std::string& out, const Variable& v) {
  write(out, ".{} ", space_name(v.space));
  if (v.managed) out += ".attribute(.managed) ";
  if (v.alignment != type_bytes(v.type) * v.vector) write(out, ".align {} ", v.alignment);
  if (v.vector > 1) write(out, ".v{} ", v.vector);
  write(out, ".{} {}", type_name(v.type), v.name);
  for (size_t i = 0; i < v.dimensions.size(); ++i) {
    if (i == 0 && v.dimensions[0] == 0) {
      out += "[]";
    } else {
      write(out, "[{}]", v.dimensions[i]);
    }
  }
}

// Prints the data of an initialised variable; rows end at their last value that is not zero.
class InitialPrinter {
 public:
  InitialPrinter(std::string& out, const Module& module, const Variable& variable)
      : out_(out), module_(module), v_(variable), scalar_(type_bytes(variable.type)) {
    counts_ = v_.dimensions;
    if (v_.vector > 1) counts_.push_back(v_.vector);
    strides_.assign(counts_.size(), 1);
    for (size_t i = counts_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * counts_[i];
    for (uint32_t i = 0; i < v_.relocations.size(); ++i)
      relocations_.emplace(v_.relocations[i].offset, i);
  }

  void print() {
    if (counts_.empty()) {
      element(0);
    } else {
      level(0, 0);
    }
  }

 private:
  // Is there anything but zero in the scalars [first, first + count)?
  bool any(uint64_t first, uint64_t count) const {
    const auto relocation = relocations_.lower_bound(first * scalar_);
    if (relocation != relocations_.end() && relocation->first < (first + count) * scalar_)
      return true;
    const auto begin = v_.initial.begin() + static_cast<int64_t>(first * scalar_);
    return std::any_of(begin, begin + static_cast<int64_t>(count * scalar_),
                       [](uint8_t b) { return b != 0; });
  }

  void level(size_t depth, uint64_t first) {
    uint64_t last = counts_[depth];
    while (last > 1 && !any(first + (last - 1) * strides_[depth], strides_[depth])) --last;
    out_ += '{';
    for (uint64_t i = 0; i < last; ++i) {
      if (i != 0) out_ += ", ";
      if (depth + 1 == counts_.size()) {
        element(first + i);
      } else {
        level(depth + 1, first + i * strides_[depth]);
      }
    }
    out_ += '}';
  }

  void element(uint64_t index) {
    const uint64_t offset = index * scalar_;
    const auto found = relocations_.find(offset);
    if (found != relocations_.end()) {
      const Relocation& r = v_.relocations[found->second];
      const bool masked = r.bytes == 1;
      if (masked) write(out_, "0x{:X}(", 0xffull << (8 * r.byte_shift));
      const std::string_view name = symbol_name(module_, nullptr, r.symbol);
      if (r.generic) {
        write(out_, "generic({})", name);
      } else {
        out_ += name;
      }
      print_addend(out_, r.addend);
      if (masked) out_ += ')';
      return;
    }
    uint64_t bits = 0;
    for (uint32_t i = 0; i < scalar_; ++i) bits |= uint64_t{v_.initial[offset + i]} << (8 * i);
    if (v_.type == Type::f32) {
      write(out_, "0f{:08X}", bits);
    } else if (v_.type == Type::f64) {
      write(out_, "0d{:016X}", bits);
    } else {
      write(out_, "{}", bits);
    }
  }

  std::string& out_;
  const Module& module_;
  const Variable& v_;
  const uint64_t scalar_;
  std::vector<uint64_t> counts_, strides_;
  std::map<uint64_t, uint32_t> relocations_;  // offset -> index
};

void print_operand(std::string& out, const Module& m, const Function& f, const Operand& o);

void print_elements(std::string& out, const Module& m, const Function& f,
                    const std::vector<Operand>& elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i != 0) out += ", ";
    print_operand(out, m, f, elements[i]);
  }
}

void print_operand(std::string& out, const Module& m, const Function& f, const Operand& o) {
  using Kind = Operand::Kind;
  switch (o.kind) {
    case Kind::reg:
      if (o.negated) out += '!';
      if (o.minus) out += '-';
      out += f.registers[o.reg].name;
      if (!o.name.empty()) write(out, ".{}", o.name);
      break;
    case Kind::special:
    case Kind::table: out += o.name; break;
    case Kind::integer: write(out, "{}", static_cast<int64_t>(o.bits)); break;
    case Kind::float32: write(out, "0f{:08X}", o.bits); break;
    case Kind::float64: write(out, "0d{:016X}", o.bits); break;
    case Kind::symbol:
      out += symbol_name(m, &f, o.symbol);
      print_addend(out, o.offset);
      break;
    case Kind::address:
      out += '[';
      print_operand(out, m, f, o.elements[0]);
      print_addend(out, o.offset);
      for (size_t i = 1; i < o.elements.size(); ++i) {
        out += ", ";
        print_operand(out, m, f, o.elements[i]);
      }
      out += ']';
      break;
    case Kind::vector:
      out += '{';
      print_elements(out, m, f, o.elements);
      out += '}';
      break;
    case Kind::list:
      out += '(';
      print_elements(out, m, f, o.elements);
      out += ')';
      break;
    case Kind::label: out += f.labels[o.index].name; break;
    case Kind::pair:
      print_operand(out, m, f, o.elements[0]);
      out += '|';
      print_operand(out, m, f, o.elements[1]);
      break;
    case Kind::sink: out += '_'; break;
  }
}

void print_instruction(std::string& out, const Module& m, const Function& f,
                       const Instruction& ins) {
  if (ins.guard)
    write(out, "@{}{} ", ins.guard->negated ? "!" : "", f.registers[ins.guard->reg].name);
  out += ins.opcode;
  for (const std::string& modifier : ins.modifiers) write(out, ".{}", modifier);
  if (!ins.operands.empty()) out += ' ';
  print_elements(out, m, f, ins.operands);
  out += ';';
}

void print_parameters(std::string& out, const std::vector<Variable>& parameters) {
  out += '(';
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i != 0) out += ", ";
    print_declaration(out, parameters[i]);
  }
  out += ')';
}

void print_triple(std::string& out, std::string_view name, const std::array<uint32_t, 3>& values) {
  if (values != std::array<uint32_t, 3>{})
    write(out, ".{} {}, {}, {}\n", name, values[0], values[1], values[2]);
}

void print_header(std::string& out, const Function& f) {
  out += linkage_text(f.linkage);
  out += f.entry ? ".entry " : ".func ";
  if (!f.returns.empty()) {
    print_parameters(out, f.returns);
    out += ' ';
  }
  out += f.name;
  print_parameters(out, f.parameters);
  out += '\n';
  print_triple(out, "maxntid", f.max_ntid);
  print_triple(out, "reqntid", f.req_ntid);
  print_triple(out, "reqnctapercluster", f.cluster);
  if (f.explicit_cluster) out += ".explicitcluster\n";
  if (f.min_ctas_per_sm != 0) write(out, ".minnctapersm {}\n", f.min_ctas_per_sm);
  if (f.max_registers != 0) write(out, ".maxnreg {}\n", f.max_registers);
  if (f.max_cluster_rank != 0) write(out, ".maxclusterrank {}\n", f.max_cluster_rank);
  if (f.no_return) out += ".noreturn\n";
}

// "%r12" -> ("%r", 12) if a range may declare it: no leading zero, a sane number.
bool numbered(std::string_view name, std::string_view& prefix, uint32_t& number) {
  size_t digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9')
    ++digits;
  if (digits == 0 || digits > 7 || name.size() - digits < 2) return false;
  prefix = name.substr(0, name.size() - digits);
  const std::string_view text = name.substr(prefix.size());
  if (text.size() > 1 && text[0] == '0') return false;
  number = 0;
  for (char c : text) number = number * 10 + static_cast<uint32_t>(c - '0');
  return true;
}

using Prefixes = std::set<std::string_view>;

// Prefixes of the numbered names among variables and functions of the module: a register range of
// such a prefix could take the name of one.
Prefixes symbol_prefixes(const Module& m) {
  Prefixes result;
  std::string_view prefix;
  uint32_t number = 0;
  for (const Variable& v : m.variables)
    if (numbered(v.name, prefix, number)) result.insert(prefix);
  for (const Function& f : m.functions)
    if (numbered(f.name, prefix, number)) result.insert(prefix);
  return result;
}

void print_registers(std::string& out, const Function& f, const Prefixes& symbols) {
  struct Range {
    Type type = Type::none;
    uint32_t highest = 0;
    bool usable = true;  // one type, and no other meaning of a name it would declare
  };
  std::map<std::string_view, Range> ranges;
  Prefixes in_registers;  // parameters that the header declares as registers
  std::string_view prefix;
  uint32_t number = 0;
  for (const std::vector<Variable>* list : {&f.parameters, &f.returns}) {
    for (const Variable& v : *list) {
      if (v.space == Space::reg) in_registers.insert(v.name);
      if (numbered(v.name, prefix, number)) ranges[prefix].usable = false;
    }
  }
  for (const Register& r : f.registers) {
    if (!numbered(r.name, prefix, number)) continue;
    Range& range =
        ranges.try_emplace(prefix, Range{r.type, 0, symbols.count(prefix) == 0}).first->second;
    range.usable &= range.type == r.type;
    range.highest = std::max(range.highest, number);
  }
  for (const auto& [name, range] : ranges)
    if (range.usable)
      write(out, "  .reg .{} {}<{}>;\n", type_name(range.type), name, range.highest + 1);
  for (const Register& r : f.registers) {
    if (numbered(r.name, prefix, number) && ranges.at(prefix).usable) continue;
    if (in_registers.count(r.name) != 0) continue;
    write(out, "  .reg .{} {};\n", type_name(r.type), r.name);
  }
}

// Names of inlined functions, each once, with the label it has in .debug_str.
class InlinedNames {
 public:
  uint32_t label(const std::string& name) {
    return labels_.try_emplace(name, static_cast<uint32_t>(labels_.size())).first->second;
  }
  void print(std::string& out) const {
    if (labels_.empty()) return;
    std::vector<const std::string*> names(labels_.size());
    for (const auto& [name, label] : labels_) names[label] = &name;
    out += "\n.section .debug_str\n{\n";
    for (size_t i = 0; i < names.size(); ++i) {
      write(out, "$L__info_string{}:\n.b8 ", i);
      for (char c : *names[i])
        write(out, "{},", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += "0\n";
    }
    out += "}\n";
  }

 private:
  std::unordered_map<std::string, uint32_t> labels_;
};

// The .loc rows of one body, in step with how the parser resolves inlined_at.
class LocationPrinter {
 public:
  LocationPrinter(std::string& out, const Function& f, InlinedNames& names)
      : out_(out), f_(f), names_(names) {}

  void print(uint32_t row) {
    // Rows that must be seen again first, innermost last.
    std::vector<uint32_t> rows{row};
    for (uint32_t site = f_.locations[row].inlined_at; site != kNone && latest(site) != site;
         site = f_.locations[site].inlined_at)
      rows.push_back(site);
    for (; !rows.empty(); rows.pop_back()) line(rows.back());
  }

 private:
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;
  Place place(uint32_t row) const {
    return {f_.locations[row].file, f_.locations[row].line, f_.locations[row].column};
  }
  uint32_t latest(uint32_t row) const {
    const auto found = latest_.find(place(row));
    return found == latest_.end() ? kNone : found->second;
  }
  void line(uint32_t row) {
    const SourceLocation& l = f_.locations[row];
    write(out_, "  .loc {} {} {}", l.file, l.line, l.column);
    if (!l.inlined_function.empty())
      write(out_, ", function_name $L__info_string{}", names_.label(l.inlined_function));
    if (l.inlined_at != kNone) {
      const SourceLocation& site = f_.locations[l.inlined_at];
      write(out_, ", inlined_at {} {} {}", site.file, site.line, site.column);
    }
    out_ += '\n';
    latest_[place(row)] = row;
  }

  std::string& out_;
  const Function& f_;
  InlinedNames& names_;
  std::map<Place, uint32_t> latest_;
};

void print_body(std::string& out, const Module& m, const Function& f, const Prefixes& symbols,
                InlinedNames& names) {
  out += "{\n";
  for (const std::string& pragma : f.pragmas) write(out, "  .pragma \"{}\";\n", pragma);
  print_registers(out, f, symbols);
  for (const Variable& v : f.variables) {
    out += "  ";
    out += linkage_text(v.linkage);
    print_declaration(out, v);
    out += ";\n";
  }
  for (const Prototype& p : f.prototypes) {
    write(out, "  {}: .callprototype ", p.name);
    if (!p.returns.empty()) {
      print_parameters(out, p.returns);
      out += ' ';
    }
    out += "_ ";
    print_parameters(out, p.parameters);
    out += p.no_return ? " .noreturn;\n" : ";\n";
  }
  for (const BranchTable& t : f.branch_tables) {
    write(out, "  {}: .branchtargets ", t.name);
    for (size_t i = 0; i < t.labels.size(); ++i)
      write(out, "{}{}", i == 0 ? "" : ", ", f.labels[t.labels[i]].name);
    out += ";\n";
  }
  LocationPrinter locations(out, f, names);
  uint32_t location = kNone;
  size_t label = 0;
  for (size_t i = 0; i <= f.instructions.size(); ++i) {
    for (; label < f.labels.size() && f.labels[label].instruction == i; ++label)
      write(out, "{}:\n", f.labels[label].name);
    if (i == f.instructions.size()) break;
    const Instruction& ins = f.instructions[i];
    if (ins.location != location && ins.location != kNone) locations.print(ins.location);
    location = ins.location;
    if (ins.used_bytes != Instruction::kAllBytes)
      write(out, "  .pragma \"used_bytes_mask {}\";\n", ins.used_bytes);
    out += "  ";
    print_instruction(out, m, f, ins);
    out += '\n';
  }
  out += "}\n";
}

// Does a variable or function refer to one that is printed after it?
bool variables_refer_ahead(const Module& m) {
  for (uint32_t i = 0; i < m.variables.size(); ++i)
    for (const Relocation& r : m.variables[i].relocations)
      if (r.symbol.kind == SymbolRef::Kind::module_variable && r.symbol.index > i) return true;
  return false;
}

bool operand_refers_ahead(const Operand& o, uint32_t index) {
  if (o.kind == Operand::Kind::symbol)
    return o.symbol.kind == SymbolRef::Kind::function && o.symbol.index > index;
  return std::any_of(o.elements.begin(), o.elements.end(),
                     [&](const Operand& e) { return operand_refers_ahead(e, index); });
}

bool functions_needed_ahead(const Module& m) {
  for (const Variable& v : m.variables)
    for (const Relocation& r : v.relocations)
      if (r.symbol.kind == SymbolRef::Kind::function) return true;
  for (uint32_t i = 0; i < m.functions.size(); ++i)
    for (const Instruction& ins : m.functions[i].instructions)
      for (const Operand& o : ins.operands)
        if (operand_refers_ahead(o, i)) return true;
  return false;
}

}  // namespace

std::string print(const Module& m) {
  std::string out;
  write(out, ".version {}.{}\n.target sm_{}{}{}\n.address_size {}\n", m.version / 10,
        m.version % 10, m.target, m.target_suffix, m.debug ? ", debug" : "", m.address_bits);
  for (size_t i = 0; i < m.files.size(); ++i)
    if (!m.files[i].empty() || i + 1 == m.files.size())
      write(out, ".file {} \"{}\"\n", i, m.files[i]);
  const bool declare_functions = functions_needed_ahead(m);
  if (declare_functions) {
    for (const Function& f : m.functions) {
      print_header(out, f);
      out += ";\n";
    }
  }
  if (variables_refer_ahead(m)) {
    for (const Variable& v : m.variables) {
      out += ".extern ";
      print_declaration(out, v);
      out += ";\n";
    }
  }
  for (const Variable& v : m.variables) {
    out += linkage_text(v.linkage);
    print_declaration(out, v);
    if (!v.initial.empty()) {
      out += " = ";
      InitialPrinter(out, m, v).print();
    }
    out += ";\n";
  }
  InlinedNames names;
  const Prefixes symbols = symbol_prefixes(m);
  for (const Function& f : m.functions) {
    if (!f.has_body) {
      if (declare_functions) continue;
      print_header(out, f);
      out += ";\n";
      continue;
    }
    out += '\n';
    print_header(out, f);
    print_body(out, m, f, symbols, names);
  }
  for (const auto& [alias, target] : m.aliases) write(out, ".alias {}, {};\n", alias, target);
  names.print(out);
  return out;
}

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  std::string out;
  print_instruction(out, module, function, instruction);
  return out;
}

}  // namespace tw::ptx
