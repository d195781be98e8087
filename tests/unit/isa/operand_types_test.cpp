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
      ".reg .s32 %sr<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .u64 %ud<4>; .reg .f64 %d<4>; "
      ".reg .b8 %c<4>;\n" +
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

// Operands of other types than the instruction's.
TEST(OperandTypes, RowsSayWhatTheirOperandsAre) {
  for (const char* text : {"shl.b32 %f0, %f1, %sr2",
                           "popc.b64 %r0, %d1",
                           "bfe.u64 %rd0, %ud1, %r2, 255",
                           "bfi.b32 %f0, %r1, %hh2, 3, 8",
                           "prmt.b32 %f0, %f1, %r2, 0x3210",
                           "shf.l.wrap.b32 %r0, %f1, %r2, %sr3",
                           "selp.b32 %r0, %f1, 0f3F800000, %p3",
                           "slct.u32.f32 %r0, %sr1, 7, %f3",
                           "set.lt.u32.f64 %r0, %d1, %rd2",
                           "cvt.u32.u16 %rd0, %rd1",
                           "cvt.u16.u32 %r0, %tid.x",
                           "cvt.f32.f16 %r0, %hf1",
                           "cvt.rn.f16x2.f32 %hh0, %f1, %f2",
                           "mul.wide.s32 %ud0, %sr1, 5",
                           "mad.wide.u16 %r0, %uh1, %h2, %sr3",
                           "dp4a.s32.u32 %r0, %hh1, %ur2, 0",
                           "ld.global.u8 %rd0, [%rd1]",
                           "ld.shared.f32 %f0, [%r1]",
                           "st.global.v2.u32 [%rd0], {%f1, 3}",
                           "atom.global.add.f32 %f0, [%rd1], 0f3F800000",
                           "red.shared.max.s32 [%r0], %ur1",
                           "shfl.sync.idx.b32 %f0, %f1, %r2, 31, 0xffffffff",
                           "vote.sync.ballot.b32 %r0, !%p1, %r2",
                           "cvta.to.global.u64 %rd0, %ud1",
                           "bar.red.and.pred %p0, 1, 64, %p1",
                           "mov.b64 %rd0, {%f1, 0f3F800000}",
                           "mov.v2.u32 {%r0, %sr0}, {%ur1, 2}",
                           "vmad.s32.s32.s32 %r0, -%r1, %r2, %r3",
                           "vmad.s32.s32.s32 %r0, -%r1, -%r2, -%r3"})
    EXPECT_EQ(problem(text), "") << text;
  for (const char* text : {"shl.b32 %r0, %r1, %rd2",
                           "shl.b32 %r0, %r1, %hh2",
                           "popc.b64 %rd0, %rd1",
                           "bfe.u64 %rd0, %rd1, %r2, 300",
                           "selp.b32 %r0, %r1, %r2, %r3",
                           "selp.u32 %r0, 0f3F800000, 1, %p3",
                           "slct.u32.f32 %r0, %r1, %r2, %sr3",
                           "set.lt.u32.f64 %rd0, %d1, %d2",
                           "cvt.u32.u16 %h0, %h1",
                           "cvt.u64.u64 %rd0, %tid.x",
                           "mul.wide.s32 %r0, %r1, %r2",
                           "mad.wide.u32 %rd0, %r1, %r2, %r3",
                           "add.u32 %r0, %tid.x, 1",
                           "add.f32 %f0, %f1, 1",
                           "add.u32 %r0, %r1, 1.0",
                           "add.f16 %h0, %h1, 1",
                           "ld.global.u32 %h0, [%rd1]",
                           "ld.global.u32 %f0, [%rd1]",
                           "ld.global.u32 %r0, [%f1]",
                           "ld.global.u32 %r0, [16]",
                           "st.global.f32 [%rd0], %sr1",
                           "atom.global.add.u32 %r0, [%rd1], %f2",
                           "shfl.sync.idx.b32 %r0, %rd1, %r2, 31, %r3",
                           "vote.sync.any.pred %p0, %r1, %r2",
                           "cvta.to.global.u64 %r0, %rd1",
                           "bar.red.and.pred %p0, 1, %r1",
                           "mov.b64 %rd0, {%h1, %r2}",
                           "add.s32 %r0, -%r1, %r2",
                           "vmad.s32.s32.s32 %r0, -%r1, %r2, -%r3",
                           "vmad.s32.s32.s32.po %r0, %r1, %r2, -%r3",
                           "lop3.b32 %r0, %r1, %r2, %r3, %r1"})
    EXPECT_NE(problem(text), "") << text;
}

}  // namespace
}  // namespace tw::isa
