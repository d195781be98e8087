#include "ptx/link.h"

#include <gtest/gtest.h>

#include "ptx/parser.h"

namespace tw::ptx {
namespace {

Module module(const std::string& text, const char* name = "a.ptx") {
  Result<Module> m = parse(".version 8.0\n.target sm_80\n.address_size 64\n" + text, name);
  EXPECT_TRUE(m.ok()) << m.error().to_string();
  return std::move(*m);
}
Result<Module> linked(const std::string& a, const std::string& b) {
  std::vector<Module> modules;
  modules.push_back(module(a));
  modules.push_back(module(b, "b.ptx"));
  return link(std::move(modules));
}
// What the operand-th operand of an instruction names.
std::string named(const Module& m, const char* function, size_t instruction) {
  for (const Operand& o : m.find_function(function)->instructions[instruction].operands) {
    const Operand& base = o.kind == Operand::Kind::address ? o.elements[0] : o;
    if (base.kind != Operand::Kind::symbol) continue;
    return base.symbol.kind == SymbolRef::Kind::function ? m.functions[base.symbol.index].name
                                                         : m.variables[base.symbol.index].name;
  }
  return "nothing";
}
const Variable* variable(const Module& m, const std::string& name) {
  for (const Variable& v : m.variables)
    if (v.name == name) return &v;
  return nullptr;
}

TEST(Link, DeclarationsFindTheirDefinitionsInEitherOrder) {
  const std::string use =
      ".visible .global .u32 own;\n.extern .global .u32 there;\n.extern .func f;\n"
      ".visible .entry k() { .reg .b32 %r<2>; call f; ld.global.u32 %r1, [there]; ld.global.u32 "
      "%r1, [own]; ret; }\n";
  const std::string definition =
      ".visible .global .u32 first;\n.visible .global .u32 there = 7;\n"
      ".visible .func f { .reg .b32 %r<2>; ld.global.u32 %r1, [there]; ret; }\n";
  for (bool swapped : {false, true}) {
    const Result<Module> m = swapped ? linked(definition, use) : linked(use, definition);
    ASSERT_TRUE(m.ok()) << m.error().to_string();
    EXPECT_EQ(m->functions.size(), 2u);
    EXPECT_EQ(m->variables.size(), 3u);
    EXPECT_TRUE(m->find_function("f")->has_body);
    EXPECT_EQ(named(*m, "k", 0), "f");
    EXPECT_EQ(named(*m, "k", 1), "there");
    EXPECT_EQ(named(*m, "k", 2), "own");
    EXPECT_EQ(named(*m, "f", 0), "there");
    EXPECT_EQ(variable(*m, "there")->initial[0], 7);
  }
}

TEST(Link, InternalNamesStayApart) {
  const Result<Module> m = linked(
      ".global .u32 hidden = 1;\n.visible .entry a() { .reg .b32 %r<2>; ld.global.u32 %r1, "
      "[hidden]; ret; }\n",
      ".global .u32 hidden = 2;\n.visible .entry b() { .reg .b32 %r<2>; ld.global.u32 %r1, "
      "[hidden]; ret; }\n");
  ASSERT_TRUE(m.ok()) << m.error().to_string();
  EXPECT_EQ(variable(*m, named(*m, "a", 0))->initial[0], 1);
  EXPECT_EQ(variable(*m, named(*m, "b", 0))->initial[0], 2);
}

TEST(Link, AVisibleNameWinsOverAnEarlierInternalOne) {
  const Result<Module> m = linked(
      ".global .u32 x = 1;\n.visible .entry a() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; ret; "
      "}\n",
      ".visible .global .u32 x = 2;\n.visible .entry b() { .reg .b32 %r<2>; ld.global.u32 %r1, "
      "[x]; ret; }\n");
  ASSERT_TRUE(m.ok()) << m.error().to_string();
  EXPECT_EQ(variable(*m, "x")->initial[0], 2);
  EXPECT_EQ(variable(*m, named(*m, "a", 0))->initial[0], 1);
  EXPECT_EQ(named(*m, "b", 0), "x");
}

TEST(Link, WeakGivesWay) {
  const std::string weak = ".weak .global .u32 x = 1;\n", strong = ".visible .global .u32 x = 2;\n";
  EXPECT_EQ(variable(*linked(weak, strong), "x")->initial[0], 2);
  EXPECT_EQ(variable(*linked(strong, weak), "x")->initial[0], 2);
  EXPECT_EQ(linked(weak, weak)->variables.size(), 1u);
}

TEST(Link, RelocationsFollow) {
  const Result<Module> m = linked(".visible .global .u32 a;\n",
                                  ".visible .global .u32 b;\n.visible .global .u64 p = b;\n");
  ASSERT_TRUE(m.ok()) << m.error().to_string();
  EXPECT_EQ(m->variables[variable(*m, "p")->relocations[0].symbol.index].name, "b");
}

TEST(Link, Refusals) {
  const std::string strong = ".visible .global .u32 x = 2;\n";
  Result<Module> twice = linked(strong, strong);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find("'x' is defined in more than one object"),
            std::string::npos);
  Result<Module> missing = linked(".extern .global .u32 y;\n", strong);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("no module defines the variable 'y'"), std::string::npos);
}

}  // namespace
}  // namespace tw::ptx
