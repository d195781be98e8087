#include "ptx/parser.h"

#include "ptx_test.h"

namespace tw::ptx {
namespace {

TEST(Header, VersionTargetAddressSize) {
  const Result<Module> m =
      parse(".version 8.5\n.target sm_90a, debug\n.address_size 64\n", "x.ptx");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m.value().name, "x.ptx");
  EXPECT_EQ(m.value().version, 85u);
  EXPECT_EQ(m.value().target, 90u);
  EXPECT_EQ(m.value().target_suffix, "a");
  EXPECT_TRUE(m.value().debug);
  EXPECT_EQ(m.value().address_bits, 64u);
}

TEST(Header, OldForms) {
  const Result<Module> m =
      parse(".version 1.4\n.target sm_13, map_f64_to_f32, texmode_independent", "x.ptx");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m.value().version, 14u);
  EXPECT_EQ(m.value().target, 13u);
}

TEST(Header, TrailingZeroBytesOfEmbeddedText) {
  EXPECT_TRUE(parse(std::string_view(".version 9.0\n.target sm_90\n\0\0", 28), "x.ptx").ok());
}

TEST(Kernel, AsNvccWritesIt) {
  const Module m = parsed(R"(
.visible .entry k(
	.param .u64 .ptr .global .align 8 k_param_0,
	.param .u32 k_param_1
)
.maxntid 128, 1, 1
.minnctapersm 2
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [k_param_0];
	ld.param.u32 	%r1, [k_param_1];
	mov.u32 	%r2, %tid.x;
	setp.ge.s32 	%p1, %r2, %r1;
	@%p1 bra 	$L__BB0_2;
	cvta.to.global.u64 	%rd2, %rd1;
	st.global.u32 	[%rd2+-4], %r2;
$L__BB0_2:
	ret;
}
)");
  ASSERT_EQ(m.functions.size(), 1u);
  const Function& f = m.functions[0];
  EXPECT_TRUE(f.entry);
  EXPECT_EQ(f.linkage, Linkage::visible);
  EXPECT_EQ(f.max_ntid, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(f.min_ctas_per_sm, 2u);
  ASSERT_EQ(f.parameters.size(), 2u);
  EXPECT_EQ(f.parameters[0].bytes, 8u);
  EXPECT_EQ(f.parameters[1].type, Type::u32);
  ASSERT_EQ(f.labels.size(), 1u);
  EXPECT_EQ(f.labels[0].instruction, 7u);
  EXPECT_EQ(listing(m, f),
            "ld.param.u64 %rd1, [k_param_0];\n"
            "ld.param.u32 %r1, [k_param_1];\n"
            "mov.u32 %r2, %tid.x;\n"
            "setp.ge.s32 %p1, %r2, %r1;\n"
            "@%p1 bra $L__BB0_2;\n"
            "cvta.to.global.u64 %rd2, %rd1;\n"
            "st.global.u32 [%rd2+-4], %r2;\n"
            "ret;\n");
  EXPECT_EQ(f.instructions[4].line, 19u);
  EXPECT_EQ(f.instructions[4].column, 2u);
}

TEST(Kernel, AsTritonWritesIt) {
  const Module m = parsed(R"(
.extern .shared .align 16 .b8 global_smem[];
.visible .entry add_kernel(
	.param .u64 .ptr .global .align 1 add_kernel_param_0,
	.param .u32 add_kernel_param_1
)
.reqntid 128
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<4>;
	.loc	1 10 0                          // add.py:10:0
$L__func_begin0:
	.loc	1 10 0                          // add.py:10:0
	ld.param.b64 	%rd1, [add_kernel_param_0];
$L__tmp0:
	// begin inline asm
	mov.u32 %r1, %ctaid.x;
	// end inline asm
	mov.pred 	%p1, -1;
	// begin inline asm
	mov.u32 %r2, 0x0;
	@%p1 ld.global.v4.b32 { %r2, %r3, %r4, %r5 }, [ %rd1 + 0 ];
	@!%p1 mov.u32 %r2, 0x0;
	// end inline asm
	.loc	1 20 4, function_name $L__info_string0, inlined_at 1 10 0
	shfl.sync.bfly.b32 %r6, %r2, 16, 31, -1;
	st.shared.b32 	[global_smem+8], %r6;
	bar.sync 	0;
	ret;
$L__tmp1:
$L__func_end0:
}
	.file	1 "add.py"
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b8 17                                  // DW_TAG_compile_unit {
	}
	.section	.debug_str
	{
$L__info_string0:
.b8 115,117,109
.b8 0
	}
	.section	.debug_macinfo	{	}
)");
  ASSERT_EQ(m.functions.size(), 1u);
  const Function& f = m.functions[0];
  EXPECT_EQ(f.req_ntid, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(f.parameters[0].alignment, 8u);
  ASSERT_EQ(f.instructions.size(), 10u);
  EXPECT_EQ(f.locations[f.instructions[6].location].inlined_function, "sum");
  EXPECT_EQ(print(m, f, f.instructions[4]), "@%p1 ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];");
  EXPECT_EQ(f.labels.back().instruction, 10u);
}

}  // namespace
}  // namespace tw::ptx
