// Real compiler output (tests/data/ptx; the .cu files beside it say how it was made): it parses,
// printing is the identity, and facts read off the files by hand hold.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "ptx_test.h"

namespace tw::ptx {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/data/ptx/" + name + ".ptx");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Module compiled(const std::string& name) {
  Result<Module> m = parse(text_of(name), name);
  if (!m.ok()) {
    ADD_FAILURE() << m.error().to_string();
    return {};
  }
  const std::string printed = print(*m);
  Result<Module> again = parse(printed, "printed");
  EXPECT_TRUE(again.ok()) << again.error().to_string() << "\n" << printed;
  if (again.ok()) {
    EXPECT_TRUE(*again == *m) << printed;
  }
  return std::move(*m);
}

size_t count(const Function& f, std::string_view opcode) {
  return static_cast<size_t>(
      std::count_if(f.instructions.begin(), f.instructions.end(),
                    [&](const Instruction& i) { return i.opcode == opcode; }));
}

const Function* kernel(const Module& m) {
  const auto found = std::find_if(m.functions.begin(), m.functions.end(),
                                  [](const Function& f) { return f.entry; });
  EXPECT_NE(found, m.functions.end());
  return found == m.functions.end() ? nullptr : &*found;
}

const Variable* variable(const Module& m, std::string_view name) {
  const auto found = std::find_if(m.variables.begin(), m.variables.end(),
                                  [&](const Variable& v) { return v.name == name; });
  EXPECT_NE(found, m.variables.end()) << name;
  return found == m.variables.end() ? nullptr : &*found;
}

TEST(Compiled, Calls) {
  const Module m = compiled("calls");
  ASSERT_EQ(m.functions.size(), 5u);  // two device functions, vprintf, __assertfail, the kernel
  const Function* k = kernel(m);
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->max_ntid[0], 128u);
  EXPECT_EQ(k->min_ctas_per_sm, 2u);
  EXPECT_EQ(count(*k, "call"), 3u);
  EXPECT_EQ(k->prototypes.size(), 1u);
  ASSERT_NE(variable(m, "head"), nullptr);
  EXPECT_EQ(variable(m, "head")->relocations.size(), 2u);
  ASSERT_NE(variable(m, "packed"), nullptr);
  EXPECT_EQ(variable(m, "packed")->relocations.size(), 8u);
  EXPECT_EQ(variable(m, "packed")->relocations[7].byte_shift, 7u);
  EXPECT_EQ(variable(m, "packed")->relocations[7].addend, 24);
  EXPECT_TRUE(variable(m, "counter")->managed);
}

TEST(Compiled, Inlined) {
  const Module m = compiled("inlined");
  const Function* k = kernel(m);
  ASSERT_NE(k, nullptr);
  ASSERT_GT(m.files.size(), 1u);
  EXPECT_EQ(m.files[1], "/src/calls.cu");
  size_t chained = 0;  // scale, inlined into twice, inlined into the kernel
  for (const SourceLocation& l : k->locations) {
    if (l.inlined_function != "_Z5scalef") continue;
    ASSERT_NE(l.inlined_at, kNone);
    chained += k->locations[l.inlined_at].inlined_function == "_Z5twicef";
  }
  EXPECT_GE(chained, 1u);
}

TEST(Compiled, Debug) {
  const Module m = compiled("debug");
  EXPECT_TRUE(m.debug);
  const Function* k = kernel(m);
  ASSERT_NE(k, nullptr);
  EXPECT_FALSE(k->locations.empty());
}

TEST(Compiled, Assembly) {
  const Module m = compiled("assembly");
  EXPECT_EQ(m.target_suffix, "a");
  const Function* k = kernel(m);
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(count(*k, "mbarrier"), 2u);
  EXPECT_EQ(count(*k, "wgmma"), 1u);
  // Each WAIT/DONE pair is its own: the branches of the second go to the second.
  std::vector<std::string> targets;
  for (const Instruction& i : k->instructions)
    if (i.opcode == "bra") targets.push_back(k->labels[i.operands[0].index].name);
  EXPECT_EQ(targets, (std::vector<std::string>{"DONE", "WAIT", "DONE_1", "WAIT_1"}));
}

TEST(Compiled, Clang) {
  const Module m = compiled("clang");
  const Function* k = kernel(m);
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->prototypes.size(), 1u);
  EXPECT_EQ(count(*k, "call"), 4u);
  ASSERT_NE(variable(m, "pt"), nullptr);
  ASSERT_EQ(variable(m, "pt")->relocations.size(), 3u);
  EXPECT_EQ(variable(m, "pt")->relocations[1].addend, 2);
  ASSERT_GT(m.files.size(), 1u);
  EXPECT_EQ(m.files[1], "/src/clang.cu");
}

// Every prefix of a text is parsed or refused with a place, and no prefix crashes.
TEST(Compiled, PrefixesAreRefusedWithAPlace) {
  for (const char* name : {"calls", "assembly", "inlined"}) {
    const std::string text = text_of(name);
    for (size_t size = 0; size < text.size(); size += 7) {
      const Result<Module> m = parse(std::string_view(text).substr(0, size), name);
      ASSERT_TRUE(m.ok() || m.error().line != 0) << size;
    }
  }
}

}  // namespace
}  // namespace tw::ptx
