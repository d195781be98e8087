// Floating-point machine instructions of one execution, from tests/data/sass/floats.cubin.
#include "report/float_rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "ptx/parser.h"

namespace tw::report {
namespace {

std::string data(const char* name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR "/tests/data/sass/") + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the counters would have of each instruction: its op, where it is a plain one.
std::string op_of(const ptx::Instruction& in) {
  if (in.modifiers.empty()) return {};
  const bool f64 = in.modifiers.back() == "f64";
  for (const char* op : {"fma", "add", "mul"})
    if (in.opcode == op && (f64 || in.modifiers.back() == "f32"))
      return (f64 ? "d" : "f") + std::string(op);
  return {};
}

// Spelling -> rule of its last instruction; sums over the kernel under "".
struct Rules {
  std::map<std::string, FloatRule> by_spelling;
  std::array<double, 9> sum{};
  Rules(const char* name, bool with_code) {
    const std::string text = data("floats.ptx"), image = data("floats.cubin");
    const auto module = ptx::parse(text, "floats.ptx");
    const auto kernels = sass::read_cubin(
        {reinterpret_cast<const uint8_t*>(image.data()), image.size()}, "floats.cubin");
    EXPECT_TRUE(module.ok() && kernels.ok());
    const ptx::Function* f = module->find_function(name);
    const sass::KernelCode* code = nullptr;
    for (const sass::KernelCode& k : *kernels)
      if (k.name == name && with_code) code = &k;
    ProgramRecord p;
    for (uint32_t i = 0; i < f->instructions.size(); ++i) {
      const ptx::Instruction& in = f->instructions[i];
      SiteInfo s;
      s.function = name, s.instruction = i, s.text = in.spelling() + " %f16x2;", s.op = op_of(in);
      s.category =
          !s.op.empty()        ? "fp32"
          : in.opcode == "mov" ? "move"
          : in.opcode == "div" || in.opcode == "sin" || in.opcode == "sqrt" || in.opcode == "ex2"
              ? "special function"
              : "other";
      p.sites.push_back(s);
    }
    const auto rules = float_rules(p, f, code);
    for (uint32_t i = 0; i < rules.size(); ++i) {
      by_spelling[f->instructions[i].spelling()] = rules[i];
      for (size_t op = 0; op < sum.size(); ++op) sum[op] += rules[i].operations[op];
    }
  }
};

using Counts = std::array<double, 9>;  // ffma fadd fmul dfma dadd dmul hfma hadd hmul

TEST(FloatRules, AMultiplicationAndAnAdditionAreOneInstruction) {
  const Rules r("joined", true);
  EXPECT_EQ(r.sum, (Counts{1, 1, 0}));
  EXPECT_EQ(r.by_spelling.at("mul.f32").operations, (Counts{}));
  EXPECT_FALSE(r.by_spelling.at("add.f32").estimated);
}

TEST(FloatRules, SpecialFunctionsAreTakenApart) {
  const Rules r("special", true);
  EXPECT_EQ(r.by_spelling.at("sin.approx.f32").operations, (Counts{0, 0, 1}));
  EXPECT_FALSE(r.by_spelling.at("sin.approx.f32").estimated);
  EXPECT_EQ(r.by_spelling.at("ex2.approx.f32").operations, (Counts{}));  // both multiply denormals
  EXPECT_TRUE(r.by_spelling.at("ex2.approx.f32").estimated);
  EXPECT_EQ(r.by_spelling.at("sqrt.rn.f32").operations, (Counts{2, 0, 2}));
  EXPECT_EQ(r.by_spelling.at("div.rn.f64").operations, (Counts{1, 0, 0, 7, 0, 1}));
  EXPECT_TRUE(r.by_spelling.at("div.rn.f64").estimated);  // there is a slow path
}

TEST(FloatRules, EachQuotientIsFiveMultiplyAdds) {
  const Rules r("quotients", true);
  EXPECT_EQ(r.by_spelling.at("div.rn.f32").operations, (Counts{5}));
  EXPECT_EQ(r.sum, (Counts{25, 5}));
  EXPECT_EQ(Rules("guarded", true).sum, (Counts{0, 0, 1}));
}

TEST(FloatRules, WithoutACubinEverythingIsEstimated) {
  const Rules r("joined", false);
  EXPECT_EQ(r.sum, (Counts{0, 2, 1}));
  EXPECT_TRUE(r.by_spelling.at("mul.f32").estimated);
}

// A loop that ptxas unrolled holds an expansion several times, of which one runs.
TEST(FloatRules, CopiesAreCountedOnce) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n .reg .f32 %f<4>;\n"
      " sin.approx.f32 %f1, %f2;\n neg.f32 %f1, %f2;\n add.f32 %f1, %f2, %f3;\n ret;\n}\n";
  const auto module = ptx::parse(text, "k.ptx");
  ASSERT_TRUE(module.ok());
  sass::KernelCode code;
  code.sass_of_ptx = {8, 4, 4, 1};
  code.floats.resize(4);
  code.floats[0].operations[2] = 4, code.floats[0].special = 4;
  code.floats[1].operations[1] = 4;
  code.floats[2].operations[1] = 4;
  ProgramRecord p;
  for (uint32_t i = 0; i < 3; ++i) {
    SiteInfo s;
    s.function = "k", s.instruction = i, s.category = i == 0 ? "special function" : "fp32";
    if (i == 2) s.op = "fadd";
    p.sites.push_back(s);
  }
  const auto rules = float_rules(p, module->find_function("k"), &code);
  EXPECT_EQ(rules[0].operations, (Counts{0, 0, 1}));
  EXPECT_TRUE(rules[1].estimated);  // four, or one of four copies
  EXPECT_EQ(rules[2].operations, (Counts{0, 1}));
  EXPECT_FALSE(rules[2].estimated);
}

}  // namespace
}  // namespace tw::report
