// Spellings of types and spaces, and look-ups in a Module.
#include "ptx/module.h"

#include <iterator>

namespace tw::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  uint32_t bytes;
};
// In the order of Type.
constexpr TypeRow kTypes[] = {
    {"", 0},       {"pred", 1},   {"b8", 1},     {"b16", 2},        {"b32", 4},     {"b64", 8},
    {"b128", 16},  {"u8", 1},     {"u16", 2},    {"u32", 4},        {"u64", 8},     {"s8", 1},
    {"s16", 2},    {"s32", 4},    {"s64", 8},    {"f16", 2},        {"f16x2", 4},   {"bf16", 2},
    {"bf16x2", 4}, {"tf32", 4},   {"f32", 4},    {"f64", 8},        {"e4m3", 1},    {"e5m2", 1},
    {"e4m3x2", 2}, {"e5m2x2", 2}, {"texref", 8}, {"samplerref", 8}, {"surfref", 8},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Type::surfref) + 1, "one row for each Type");

// In the order of Space.
constexpr std::string_view kSpaces[] = {"generic", "reg",   "global", "const",
                                        "shared",  "local", "param"};
static_assert(std::size(kSpaces) == static_cast<size_t>(Space::param) + 1,
              "one name for each Space");

}  // namespace

Type type_from_name(std::string_view name) {
  for (size_t i = 1; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name) return static_cast<Type>(i);
  return Type::none;
}

std::string_view type_name(Type type) { return kTypes[static_cast<size_t>(type)].name; }

uint32_t type_bytes(Type type) { return kTypes[static_cast<size_t>(type)].bytes; }

std::string_view space_name(Space space) { return kSpaces[static_cast<size_t>(space)]; }

std::string Instruction::spelling() const {
  std::string text = opcode;
  for (const std::string& modifier : modifiers) {
    text += '.';
    text += modifier;
  }
  return text;
}

const Function* Module::find_function(std::string_view function_name) const {
  const Function* declaration = nullptr;
  for (const Function& function : functions) {
    if (function.name != function_name) continue;
    if (function.has_body) return &function;
    declaration = &function;
  }
  return declaration;
}

}  // namespace tw::ptx
