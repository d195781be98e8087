// What a device linker does, on parsed modules: names are joined, references follow. Every function
// and variable gets a place in the result first; then bodies and initialisers are copied with the
// new numbers.
//
//   .extern with a definition    the definition
//   .weak with any definition    one of them, a strong one before a weak one
//   .common                      the largest
//   two strong definitions       an error
//   no linkage directive         stays apart: a later one of the same name gets a number behind it
//
// A function without a body anywhere is left for the decoder, which provides some (vprintf) and
// names the rest. Limit: the result bears the first module's name, so messages about a later one
// show its source line, from .loc, but a PTX line under that name. Tested by
// tests/unit/ptx/link_test.cpp.
#include "ptx/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>

namespace tw::ptx {
namespace {

struct Numbers {  // of one module: its own number -> the result's
  std::vector<uint32_t> functions, variables, files;
};

void renumber(SymbolRef& symbol, const Numbers& numbers) {
  if (symbol.kind == SymbolRef::Kind::function && symbol.index < numbers.functions.size())
    symbol.index = numbers.functions[symbol.index];
  if (symbol.kind == SymbolRef::Kind::module_variable && symbol.index < numbers.variables.size())
    symbol.index = numbers.variables[symbol.index];
}

void renumber(Operand& operand, const Numbers& numbers) {
  if (operand.kind == Operand::Kind::symbol) renumber(operand.symbol, numbers);
  for (Operand& element : operand.elements) renumber(element, numbers);
}

void renumber(Variable& variable, const Numbers& numbers) {
  for (Relocation& relocation : variable.relocations) renumber(relocation.symbol, numbers);
}

void renumber(Function& function, const Numbers& numbers) {
  for (Variable& variable : function.variables) renumber(variable, numbers);
  for (Instruction& instruction : function.instructions)
    for (Operand& operand : instruction.operands) renumber(operand, numbers);
  for (SourceLocation& location : function.locations)
    if (location.file < numbers.files.size()) location.file = numbers.files[location.file];
}

bool defined(const Function& function) { return function.has_body; }
bool defined(const Variable& variable) { return variable.linkage != Linkage::external; }
bool weak(Linkage linkage) { return linkage == Linkage::weak || linkage == Linkage::common; }

// Whether `later` takes the place of `earlier`, which has the same name and is visible too.
template <class T> bool replaces(const T& earlier, const T& later) {
  if (!defined(later)) return false;
  if (!defined(earlier)) return true;
  if constexpr (std::is_same_v<T, Variable>)
    if (earlier.linkage == Linkage::common && later.linkage == Linkage::common)
      return later.bytes > earlier.bytes;
  return weak(earlier.linkage) && !weak(later.linkage);
}

class Linker {
 public:
  explicit Linker(std::vector<Module> modules) : modules_(std::move(modules)) {}

  Result<Module> run() {
    out_.name = modules_[0].name;
    out_.address_bits = modules_[0].address_bits;
    for (Module& module : modules_) {
      if (module.address_bits != out_.address_bits)
        return Error{.message = "modules of 32-bit and of 64-bit addresses cannot be linked",
                     .file = module.name};
      out_.version = std::max(out_.version, module.version);
      out_.debug |= module.debug;
      if (module.target > out_.target || out_.target_suffix.empty())
        out_.target_suffix = module.target_suffix;
      out_.target = std::max(out_.target, module.target);
      out_.aliases.insert(out_.aliases.end(), module.aliases.begin(), module.aliases.end());
      Numbers numbers;
      number_files(module, numbers);
      if (Status s = place(module, module.variables, out_.variables, variables_, numbers.variables);
          !s)
        return s.error();
      if (Status s = place(module, module.functions, out_.functions, functions_, numbers.functions);
          !s)
        return s.error();
      for (size_t i = 0; i < module.variables.size(); i++)
        put(module.variables[i], out_.variables, numbers.variables[i], numbers);
      for (size_t i = 0; i < module.functions.size(); i++)
        put(module.functions[i], out_.functions, numbers.functions[i], numbers);
    }
    for (const Variable& variable : out_.variables)
      if (variable.linkage == Linkage::external && variable.space != Space::shared)
        return Error{.message = fmt::format("no module defines the variable '{}'", variable.name),
                     .file = out_.name,
                     .line = variable.line};
    return std::move(out_);
  }

 private:
  void number_files(const Module& module, Numbers& numbers) {
    if (out_.files.empty()) out_.files.emplace_back();
    for (const std::string& file : module.files) {
      const auto found = std::find(out_.files.begin(), out_.files.end(), file);
      numbers.files.push_back(uint32_t(found - out_.files.begin()));
      if (found == out_.files.end()) out_.files.push_back(file);
    }
  }

  // The result's number of each of `from`. What it is to hold is put there by put().
  template <class T>
  Status place(const Module& module, std::vector<T>& from, std::vector<T>& to,
               std::unordered_map<std::string, uint32_t>& names, std::vector<uint32_t>& numbers) {
    for (T& item : from) {
      const bool internal = item.linkage == Linkage::internal && defined(item);
      if (internal)
        for (int k = 2; names.contains(item.name); k++)
          if (const std::string name = fmt::format("{}${}", item.name, k); !names.contains(name))
            item.name = name;
      const auto [known, is_new] = names.try_emplace(item.name, uint32_t(to.size()));
      numbers.push_back(known->second);
      if (is_new) {
        to.emplace_back();
        to.back().name = item.name;
        to.back().linkage = Linkage::external;
        continue;
      }
      T& earlier = to[known->second];
      if (earlier.linkage == Linkage::internal && defined(earlier)) {
        // An internal one came first: it keeps the place, the visible one gets the name.
        const uint32_t number = uint32_t(to.size());
        std::string name = item.name;
        for (int k = 2; names.contains(name); k++) name = fmt::format("{}${}", item.name, k);
        names[name] = known->second;
        earlier.name = name;
        names[item.name] = number;
        numbers.back() = number;
        to.emplace_back();
        to.back().name = item.name;
        to.back().linkage = Linkage::external;
        continue;
      }
      if (defined(earlier) && defined(item) && !weak(earlier.linkage) && !weak(item.linkage))
        return Error{.message = fmt::format("'{}' is defined in more than one object", item.name),
                     .file = module.name,
                     .line = item.line};
    }
    return Unit{};
  }

  template <class T>
  void put(T& item, std::vector<T>& to, uint32_t number, const Numbers& numbers) {
    T& there = to[number];
    const bool placeholder = there.linkage == Linkage::external && !defined(there);
    if (!replaces(there, item) && !(placeholder && !defined(item))) return;
    if (item.name != there.name) return;
    renumber(item, numbers);
    there = std::move(item);
  }

  std::vector<Module> modules_;
  Module out_;
  std::unordered_map<std::string, uint32_t> variables_, functions_;
};

}  // namespace

Result<Module> link(std::vector<Module> modules) {
  if (modules.size() == 1) return std::move(modules[0]);
  return Linker(std::move(modules)).run();
}

}  // namespace tw::ptx
