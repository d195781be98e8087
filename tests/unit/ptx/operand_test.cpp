#include <bit>

#include "ptx_test.h"

namespace tw::ptx {
namespace {

constexpr std::string_view kRegisters =
    ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .shared .b8 s[64];\n";

Instruction instruction(std::string_view text) {
  const Module m = body(std::string(kRegisters) + std::string(text));
  if (m.functions.empty() || m.functions[0].instructions.empty()) {
    ADD_FAILURE() << text;
    return {};
  }
  return m.functions[0].instructions[0];
}

Operand operand(std::string_view text) {
  Instruction i = instruction("mov.b32 " + std::string(text) + ";");
  EXPECT_EQ(i.operands.size(), 1u);
  return i.operands.empty() ? Operand{} : i.operands[0];
}

// Printed form of one instruction.
std::string normal(std::string_view text) {
  const Module m = body(std::string(kRegisters) + std::string(text));
  return m.functions.empty() ? "" : listing(m, m.functions[0]);
}

TEST(Opcodes, Modifiers) {
  const Instruction i = instruction(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint;");
  EXPECT_EQ(i.opcode, "cp");
  ASSERT_EQ(i.modifiers.size(), 6u);
  EXPECT_EQ(i.modifiers[2], "shared::cluster");
  EXPECT_EQ(i.modifiers[4], "mbarrier::complete_tx::bytes");
  EXPECT_EQ(i.spelling(),
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint");
  EXPECT_EQ(instruction("ld .global .f32 %f1, [%rd1];").spelling(), "ld.global.f32");
  EXPECT_EQ(instruction("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];").spelling(),
            "tex.2d.v4.f32.f32");
}

TEST(Operands, Integers) {
  EXPECT_EQ(operand("42").bits, 42u);
  EXPECT_EQ(operand("-1").bits, ~0ull);
  EXPECT_EQ(operand("-9223372036854775808").bits, 1ull << 63);
  EXPECT_EQ(operand("0xffffffffU").bits, 0xffffffffu);
  EXPECT_EQ(operand("0777").bits, 511u);
  EXPECT_EQ(operand("0b1011").bits, 11u);
  EXPECT_EQ(operand("42").kind, Operand::Kind::integer);
}

TEST(Operands, FloatingPoint) {
  EXPECT_EQ(operand("0f3F800000").kind, Operand::Kind::float32);
  EXPECT_EQ(operand("0f3F800000").bits, 0x3f800000u);
  EXPECT_EQ(operand("-0f3F800000").bits, 0xbf800000u);
  EXPECT_EQ(operand("0d3FF0000000000000").kind, Operand::Kind::float64);
  EXPECT_EQ(operand("1.5").kind, Operand::Kind::float64);
  EXPECT_EQ(operand("-1.5").bits, std::bit_cast<uint64_t>(-1.5));
  EXPECT_EQ(operand("0f7FC00001").bits, 0x7fc00001u);  // NaN with a payload
}

TEST(Operands, ConstantExpressions) {
  EXPECT_EQ(operand("1+2*3").bits, 7u);
  EXPECT_EQ(operand("(1+2)*3").bits, 9u);
  EXPECT_EQ(operand("10-2-3").bits, 5u);
  EXPECT_EQ(operand("-7/2").bits, static_cast<uint64_t>(-3));
  EXPECT_EQ(operand("-7 % 3").bits, static_cast<uint64_t>(-1));
  EXPECT_EQ(operand("1<<4|3").bits, 19u);
  EXPECT_EQ(operand("~0&0xff").bits, 255u);
  EXPECT_EQ(operand("!5").bits, 0u);
  EXPECT_EQ(operand("3>2&&2>=2").bits, 1u);
  EXPECT_EQ(operand("1==2||0!=0").bits, 0u);
  EXPECT_EQ(operand("1 ? 5 : 6").bits, 5u);
  EXPECT_EQ(operand("(.s64) 5 ^ 1").bits, 4u);
  EXPECT_EQ(operand("-9223372036854775808 / -1").bits, 1ull << 63);
}

TEST(Operands, Registers) {
  EXPECT_EQ(operand("%r1").kind, Operand::Kind::reg);
  const Operand negated = operand("!%p1");
  EXPECT_TRUE(negated.negated);
  EXPECT_EQ(operand("_").kind, Operand::Kind::sink);
  EXPECT_EQ(operand("%r1.b2").name, "b2");
  EXPECT_EQ(operand("%r1.h1").name, "h1");
}

TEST(Operands, Pairs) {
  const Operand pair = operand("%r1|%p1");
  EXPECT_EQ(pair.kind, Operand::Kind::pair);
  ASSERT_EQ(pair.elements.size(), 2u);
  EXPECT_EQ(pair.elements[1].kind, Operand::Kind::reg);
  EXPECT_EQ(operand("%p1 | _").elements[1].kind, Operand::Kind::sink);
  EXPECT_EQ(operand("_|%p1").elements[0].kind, Operand::Kind::sink);
}

TEST(Operands, SpecialRegisters) {
  for (std::string_view name :
       {"%tid.x", "%ntid.y", "%ctaid.z", "%laneid", "%clock64", "%lanemask_lt", "%globaltimer_lo",
        "%envreg31", "%pm7", "%pm3_64", "WARP_SZ", "%dynamic_smem_size", "%reserved_smem_offset_1",
        "%cluster_ctarank", "%is_explicit_cluster", "%tid"}) {
    const Operand o = operand(name);
    EXPECT_EQ(o.kind, Operand::Kind::special) << name;
    EXPECT_EQ(o.name, name);
  }
}

TEST(Operands, Addresses) {
  const Operand plain = operand("[%rd1]");
  EXPECT_EQ(plain.kind, Operand::Kind::address);
  ASSERT_EQ(plain.elements.size(), 1u);
  EXPECT_EQ(operand("[%rd1+4]").offset, 4);
  EXPECT_EQ(operand("[%rd1+-4]").offset, -4);
  EXPECT_EQ(operand("[%rd1-4]").offset, -4);
  EXPECT_EQ(operand("[ %rd1 + 0x10 ]").offset, 16);
  EXPECT_EQ(operand("[%rd1+4*8+2]").offset, 34);
  EXPECT_EQ(operand("[s]").elements[0].kind, Operand::Kind::symbol);
  const Operand symbol = operand("[s+12]");
  EXPECT_EQ(symbol.offset, 12);
  EXPECT_EQ(symbol.elements[0].offset, 0);
  EXPECT_EQ(operand("[64]").elements[0].bits, 64u);
}

TEST(Operands, AddressesOfSeveralParts) {
  const Operand tensor = operand("[%rd1, {%r1, %r2}]");
  ASSERT_EQ(tensor.elements.size(), 2u);
  EXPECT_EQ(tensor.elements[1].kind, Operand::Kind::vector);
  EXPECT_EQ(operand("[%rd1, %rd2, {%f1}]").elements.size(), 3u);
}

TEST(Operands, Symbols) {
  EXPECT_EQ(operand("s").symbol.kind, SymbolRef::Kind::function_variable);
  EXPECT_EQ(operand("s+4").offset, 4);
  EXPECT_EQ(operand("s-4").offset, -4);
}

TEST(Operands, Vectors) {
  const Operand v = operand("{%f1, _, 3, 0f3F800000}");
  ASSERT_EQ(v.elements.size(), 4u);
  EXPECT_EQ(v.elements[1].kind, Operand::Kind::sink);
  EXPECT_EQ(v.elements[3].kind, Operand::Kind::float32);
}

TEST(Guards, OnAnyInstruction) {
  const Instruction i = instruction("@!%p2 add.u32 %r1, %r1, 1;");
  ASSERT_TRUE(i.guard.has_value());
  EXPECT_TRUE(i.guard->negated);
  EXPECT_EQ(normal("@ %p1 ret;"), "@%p1 ret;\n");
}

TEST(Instructions, AsTheManualSpellsThem) {
  for (std::string_view line : {
           "setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;",
           "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
           "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];",
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1, %r2}, {%r3}, {%f1, "
           "%f2};",
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, "
           "%p1, 1, 1, 0, 0;",
           "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
           "[%rd1, {%r2, %r3}], [%r4];",
           "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
           "[%r1], [%rd1, {%r2, %r3, %r4}], [%r5], {%r6};",
           "mbarrier.arrive.shared.b64 _, [%r1];",
           "atom.global.gpu.acq_rel.cas.b32 %r1, [%rd1], %r2, %r3;",
           "red.global.add.f32 [%rd1], %f1;",
           "mov.b64 {%r1, %r2}, %rd1;",
           "vadd.s32.u32.s32 %r1, %r2.b0, %r3.h1;",
           "barrier.sync 0;",
           "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
           "createpolicy.fractional.L2::evict_last.b64 %rd1, 0d3FE0000000000000;",
           "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, %p1;",
           "suld.b.2d.v4.b32.trap {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}];",
           "ret.uni;",
       })
    EXPECT_EQ(normal(line), std::string(line) + "\n");
}

std::string error(std::string_view text) {
  return error_of(".func f() {\n" + std::string(kRegisters) + std::string(text) + "\n}");
}

TEST(OperandErrors, Places) {
  EXPECT_EQ(error("mov.b32 %r1, %q;"), "3:14: register '%q' is not declared: add a .reg for it");
  EXPECT_EQ(error("mov.b32 %r1, %r9;"), "3:14: register '%r9' is not declared: add a .reg for it");
  EXPECT_EQ(error("mov.b32 %r1, %r01;"),
            "3:14: register '%r01' is not declared: add a .reg for it");
  EXPECT_EQ(error("mov.b32 %r1, nowhere;"),
            "3:14: 'nowhere' is not declared: declare it before its use");
  EXPECT_EQ(error("mov.b32 %r1 %r2;"), "3:13: '%r2' where ',' or ';' was expected");
  EXPECT_EQ(error("mov.b32 %r1, ;"), "3:14: ';' where an operand was expected");
  EXPECT_EQ(error("mov.b32 %r1, 0f12;"),
            "3:14: malformed number '0f12': integers have up to 64 bits, 0f needs 8 and 0d 16 "
            "hexadecimal digits");
  EXPECT_EQ(error("mov.b32 %r1, 99999999999999999999;"),
            "3:14: malformed number '99999999999999999999': integers have up to 64 bits, 0f needs "
            "8 and 0d 16 hexadecimal digits");
  EXPECT_EQ(error("mov.b32 %r1, 1/0;"), "3:15: division by zero");
  EXPECT_EQ(error("mov.b32 %r1, 1<<64;"), "3:15: shift by more than 63");
  EXPECT_EQ(error("mov.b32 %r1, 1.5+1;"),
            "3:17: '+' needs integers: write a floating-point constant as one number");
  EXPECT_EQ(error("mov.b32 %r1, ~1.5;"), "3:14: '~' needs an integer");
  EXPECT_EQ(
      error("ld.u32 %r1, [%rd1;"),
      "3:18: ';' where ',' between the parts of an address, or ']' after the last was expected");
  EXPECT_EQ(error("ld.u32 %r1, [{%rd1}];"),
            "3:14: an address begins with a register, a variable or an integer");
  EXPECT_EQ(error("ld.u32 %r1, [%rd1+1.5];"), "3:19: an offset is an integer: write it in bytes");
  EXPECT_EQ(
      error("mov.b64 {%r1, %r2, %rd1;"),
      "3:24: ';' where ',' between the elements of a vector, or '}' after the last was expected");
  EXPECT_EQ(error("mov.b32 %r1.q, 1;"), "3:12: '.q' where ',' or ';' was expected");
  EXPECT_EQ(error("mov.b32 %r1, %tid.q;"), "3:18: '.q' where .x, .y, .z or .w was expected");
  EXPECT_EQ(error("mov.b32 %r1, !3;"), "no error");  // a constant expression
  EXPECT_EQ(error("mov.b32 %r1, !s;"), "3:14: '!' needs a predicate register behind it");
  EXPECT_EQ(error("mov.b32 s|%r1, 3;"), "3:10: '|' where ',' or ';' was expected");
  EXPECT_EQ(error("mov.b32 %r1|s, 3;"), "3:13: 's' is not a register: '|' joins two registers");
  EXPECT_EQ(error("@%r1 ret;"), "3:2: '%r1' is not a .pred register: a guard is one");
  EXPECT_EQ(error("@%p1 ;"), "3:6: ';' where an instruction after its guard was expected");
  EXPECT_EQ(error("mov.b32 %r1, \"x"),
            "3:14: '\"': string without an end: add \" on the same line");
}

TEST(OperandErrors, NestingIsBounded) {
  EXPECT_EQ(error("mov.b32 %r1, " + std::string(100000, '{')),
            "3:23: brackets nested too deeply in an operand: take them apart");
  EXPECT_EQ(error("mov.b32 %r1, " + std::string(100000, '[')),
            "3:23: brackets nested too deeply in an operand: take them apart");
  EXPECT_EQ(error("mov.b32 %r1, " + std::string(100000, '(')),
            "3:79: constant expression nested too deeply: compute it");
  EXPECT_EQ(error("mov.b32 %r1, " + std::string(100000, '-')),
            "3:79: constant expression nested too deeply: compute it");
}

TEST(OperandErrors, LongNamesAreCut) {
  const std::string message = error("mov.b32 %r1, " + std::string(100000, 'x') + ";");
  EXPECT_LT(message.size(), 400u);
  EXPECT_NE(message.find("declare it before its use"), std::string::npos);
}

}  // namespace
}  // namespace tw::ptx
