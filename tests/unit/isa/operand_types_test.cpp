// Types of registers against an instruction's: the expectations are what ptxas 13.0 said (-arch=sm_90).
#include "isa/operand_types.h"

#include <gmock/gmock.h>

#include "ptx/parser.h"

namespace tw::isa {
namespace {

std::string problem(const std::string& instruction) {
  const Result<ptx::Module> module = ptx::parse(
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<4>; "
      ".reg .b16 %h<4>; .reg .u16 %uh<4>; .reg .f16 %hf<4>; .reg .f16x2 %hh<4>; .reg .b32 %r<4>; "
      ".reg .u32 %ur<4>; "
      ".reg .s32 %sr<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .u64 %ud<4>; .reg .f64 %d<4>;\n" +
          instruction + ";\nret;\n}\n",
      "t.ptx");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& f = module->functions[0];
  const Result<Match> found = match(f.instructions[0], "t.ptx");
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  const Status s = check_operand_types(f.instructions[0], *found, f, "t.ptx");
  return s.ok() ? "" : s.error().message;
}

TEST(OperandTypes, RegistersOfTheTypeOrOfBitsAgree) {
  for (const char* text :
       {"add.u32 %r0, %ur1, %sr2", "add.s32 %ur0, %sr1, 7", "add.f32 %f0, %r1, %f2",
        "and.b32 %f0, %ur1, %r2", "mov.b64 %d0, %ud1", "fma.rn.f64 %d0, %rd1, %d2, %rd3",
        "add.f16 %hf0, %h1, %hf2", "setp.lt.u32 %p0, %sr1, %r2",
        "setp.lt.and.f32 %p0, %f1, %r2, %p3", "mul.wide.u32 %rd0, %r1, %r2", "mov.pred %p0, %p1",
        "mov.u32 %r0, %tid.x", "cvt.u64.u32 %rd0, %rd1", "mad.lo.s32 %r0, %sr1, %ur2, %r3",
        "add.u32 %r0, %hh1, 7", "mov.u32 %hh0, %r1"})
    EXPECT_EQ(problem(text), "") << text;
}

TEST(OperandTypes, OthersAreRefusedByName) {
  EXPECT_EQ(problem("add.u32 %r0, %f1, %r2"),
            "'add.u32' takes a .u32 as operand 2, and %f1 is a .f32: move it into a .b32 first");
  for (const char* text :
       {"add.u32 %r0, %r1, %p2", "add.f32 %f0, %ur1, %f2", "add.s64 %rd0, %rd1, %r2",
        "add.f64 %d0, %ud1, %d2", "add.u16 %h0, %hf1, %h2", "add.f16 %hf0, %uh1, %hf2",
        "and.b32 %r0, %rd1, %r2", "mov.u32 %f0, %r1", "mov.f32 %f0, %sr1", "mov.b64 %rd0, %r1",
        "setp.lt.u32 %r0, %r1, %r2", "setp.lt.f32 %p0, %f1, %sr2", "mad.lo.s32 %r0, %r1, %r2, %rd3",
        "fma.rn.f32 %f0, %d1, %f2, %f3", "not.b32 %h0, %r1", "min.s32 %f0, %r1, %r2"})
    EXPECT_NE(problem(text), "") << text;
}

}  // namespace
}  // namespace tw::isa
