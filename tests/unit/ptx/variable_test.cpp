#include <gmock/gmock.h>

#include <bit>
#include <cstring>

#include "ptx_test.h"

namespace tw::ptx {
namespace {

using testing::ElementsAre;

Variable variable(std::string_view text) {
  const Module m = parsed(text);
  EXPECT_FALSE(m.variables.empty());
  return m.variables.empty() ? Variable{} : m.variables.back();
}

template <class T> T at(const Variable& v, size_t index) {
  T value{};
  if (v.initial.size() < (index + 1) * sizeof(T)) {
    ADD_FAILURE() << "no element " << index;
    return value;
  }
  std::memcpy(&value, v.initial.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(Variables, SpacesAndLinkage) {
  const Module m = parsed(R"(
.global .align 4 .u32 a;
.visible .const .f32 b[4];
.weak .global .b8 c[3];
.common .global .u64 d;
.extern .global .align 8 .b8 e[];
.shared .align 16 .b8 f[64];
.extern .shared .align 16 .b8 g[];
.global .attribute(.managed) .align 4 .u32 h = 4;
.global .attribute(.unified(1, 2)) .u32 i;
.global .texref tex;
)");
  ASSERT_EQ(m.variables.size(), 10u);
  EXPECT_EQ(m.variables[0].linkage, Linkage::internal);
  EXPECT_EQ(m.variables[1].linkage, Linkage::visible);
  EXPECT_EQ(m.variables[1].space, Space::constant);
  EXPECT_EQ(m.variables[1].bytes, 16u);
  EXPECT_EQ(m.variables[1].alignment, 4u);
  EXPECT_EQ(m.variables[2].linkage, Linkage::weak);
  EXPECT_EQ(m.variables[3].linkage, Linkage::common);
  EXPECT_EQ(m.variables[4].linkage, Linkage::external);
  EXPECT_EQ(m.variables[4].bytes, 0u);
  EXPECT_EQ(m.variables[5].space, Space::shared);
  EXPECT_EQ(m.variables[6].bytes, 0u);
  EXPECT_EQ(m.variables[6].alignment, 16u);
  EXPECT_TRUE(m.variables[7].managed);
  EXPECT_EQ(m.variables[9].type, Type::texref);
}

TEST(Variables, SeveralNames) {
  const Module m = parsed(".global .u32 a, b[3], c = 7;");
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[1].bytes, 12u);
  EXPECT_EQ(at<uint32_t>(m.variables[2], 0), 7u);
}

TEST(Variables, VectorsAndDimensions) {
  const Variable v = variable(".global .v4 .f32 v[2][3];");
  EXPECT_EQ(v.vector, 4u);
  EXPECT_EQ(v.alignment, 16u);
  EXPECT_EQ(v.bytes, 96u);
  EXPECT_THAT(v.dimensions, ElementsAre(2, 3));
  EXPECT_TRUE(v.initial.empty());
}

TEST(Initialisers, Scalars) {
  EXPECT_EQ(at<int32_t>(variable(".global .s32 x = -5;"), 0), -5);
  EXPECT_EQ(at<uint64_t>(variable(".global .u64 x = 0xFFFFFFFFFFFFFFFF;"), 0), ~0ull);
  EXPECT_EQ(at<float>(variable(".global .f32 x = 0f3FC00000;"), 0), 1.5f);
  EXPECT_EQ(at<float>(variable(".global .f32 x = -1.5;"), 0), -1.5f);
  EXPECT_EQ(at<float>(variable(".global .f32 x = 2;"), 0), 2.0f);
  EXPECT_EQ(at<double>(variable(".global .f64 x = 0d4004000000000000;"), 0), 2.5);
  EXPECT_EQ(at<double>(variable(".global .f64 x = 0f3FC00000;"), 0), 1.5);
  EXPECT_EQ(at<uint32_t>(variable(".global .b32 x = 0f3FC00000;"), 0), 0x3fc00000u);
  EXPECT_EQ(at<uint32_t>(variable(".global .u32 x = {9};"), 0), 9u);
  EXPECT_EQ(at<uint32_t>(variable(".global .u32 x = (1 << 4) + 3*2;"), 0), 22u);
}

TEST(Initialisers, ZeroIsNotAbsent) {
  EXPECT_EQ(variable(".global .u32 x = 0;").initial.size(), 4u);
  EXPECT_EQ(variable(".global .u32 x[3] = {0};").initial.size(), 12u);
  EXPECT_TRUE(variable(".global .u32 x[3];").initial.empty());
}

TEST(Initialisers, NestedBraces) {
  const Variable v = variable(".global .s32 x[2][3] = {{1, 2}, {3}};");
  const int want[] = {1, 2, 0, 3, 0, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(at<int32_t>(v, i), want[i]) << i;
}

TEST(Initialisers, RowsWithoutBraces) {
  const Variable v = variable(".global .s32 x[3][2] = {1, 2, {3, 4}, 5};");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(at<int32_t>(v, i), i + 1);
}

TEST(Initialisers, VectorElements) {
  const Variable v = variable(".const .v2 .f32 x[2] = {{1.0, 2.0}, {3.0}};");
  EXPECT_EQ(at<float>(v, 1), 2.0f);
  EXPECT_EQ(at<float>(v, 2), 3.0f);
  EXPECT_EQ(at<float>(v, 3), 0.0f);
}

TEST(Initialisers, OpenExtent) {
  const Variable v = variable(".global .u16 x[][2] = {{1, 2}, {3, 4}, {5}};");
  EXPECT_THAT(v.dimensions, ElementsAre(3, 2));
  EXPECT_EQ(v.bytes, 12u);
  EXPECT_EQ(at<uint16_t>(v, 4), 5);
}

TEST(Initialisers, Symbols) {
  const Module m = parsed(R"(
.global .b8 text[8] = {104, 105};
.func f() { ret; }
.global .u64 x[6] = {text, text+4, generic(text), generic(text)-2, f, 17};
)");
  const Variable& v = m.variables[1];
  ASSERT_EQ(v.relocations.size(), 5u);
  EXPECT_EQ(v.relocations[1].offset, 8u);
  EXPECT_EQ(v.relocations[1].addend, 4);
  EXPECT_FALSE(v.relocations[1].generic);
  EXPECT_TRUE(v.relocations[3].generic);
  EXPECT_EQ(v.relocations[3].addend, -2);
  EXPECT_EQ(v.relocations[4].symbol.kind, SymbolRef::Kind::function);
  EXPECT_EQ(at<uint64_t>(v, 5), 17u);
}

TEST(Initialisers, ByteMasks) {
  const Module m = parsed(R"(
.global .u32 t;
.global .b8 x[10] = {1, 0xFF(t), 0xFF00(t), 0xFF0000(generic(t)+4), 0xFF00000000000000(generic(t)), 0xff};
)");
  const Variable& v = m.variables[1];
  ASSERT_EQ(v.relocations.size(), 4u);
  EXPECT_EQ(v.relocations[0].offset, 1u);
  EXPECT_EQ(v.relocations[0].bytes, 1u);
  EXPECT_EQ(v.relocations[0].byte_shift, 0u);
  EXPECT_EQ(v.relocations[1].byte_shift, 1u);
  EXPECT_EQ(v.relocations[2].byte_shift, 2u);
  EXPECT_EQ(v.relocations[2].addend, 4);
  EXPECT_TRUE(v.relocations[2].generic);
  EXPECT_EQ(v.relocations[3].byte_shift, 7u);
  EXPECT_EQ(v.initial[5], 0xff);
}

TEST(Initialisers, MayNameTheVariableItself) {
  const Module m = parsed(".global .u64 x = x;");
  EXPECT_EQ(m.variables[0].relocations[0].symbol.index, 0u);
}

TEST(Initialisers, ReferToLaterDefinitionsOfDeclaredVariables) {
  const Module m = parsed(R"(
.extern .global .u64 b;
.global .u64 c = 5;
.global .u64 a = b;
.global .u64 b = c;
)");
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[0].name, "b");
  EXPECT_EQ(m.variables[0].linkage, Linkage::internal);
  EXPECT_EQ(m.variables[0].relocations[0].symbol.index, 1u);
  EXPECT_EQ(m.variables[2].relocations[0].symbol.index, 0u);
}

TEST(Variables, ExternAfterDefinitionChangesNothing) {
  const Module m = parsed(".global .u32 a = 3;\n.extern .global .u32 a;\n");
  ASSERT_EQ(m.variables.size(), 1u);
  EXPECT_EQ(m.variables[0].linkage, Linkage::internal);
}

TEST(VariableErrors, Places) {
  EXPECT_EQ(error_of(".global .align 3 .u32 a;"), "1:16: an alignment is a power of two");
  EXPECT_EQ(error_of(".global a;"), "1:9: 'a' where a type such as .b32 was expected");
  EXPECT_EQ(error_of(".global .u32 .b32 a;"), "1:14: a second type: a variable has one");
  EXPECT_EQ(error_of(".global .u32 a;\n.global .u32 a;"),
            "2:14: 'a' is already defined: choose another name");
  EXPECT_EQ(error_of(".global .u32 a;\n.extern .const .u32 a;"),
            "2:21: 'a' was declared in .global before: use one state space");
  EXPECT_EQ(error_of(".func a() { ret; }\n.global .u32 a;"),
            "2:14: 'a' is already a function: choose another name");
  EXPECT_EQ(error_of(".global .u32 a[];"),
            "1:14: 'a' has no size: give an extent or an initialiser");
  EXPECT_EQ(error_of(".global .u32 a[2][];"),
            "1:18: only the first extent of an array can be left out: give this one");
  EXPECT_EQ(error_of(".global .u32 a[1.5];"), "1:15: an array extent is an integer");
  EXPECT_EQ(error_of(".global .u32 a[0x7fffffffffff];"),
            "1:15: array larger than the limit of 1099511627776 bytes");
  EXPECT_EQ(error_of(".global .u32 a[1000000][1000000];"),
            "1:24: array larger than the limit of 1099511627776 bytes");
  EXPECT_EQ(error_of(".global .u32 a[][0x4000000000][0x4000000000] = {1};"),
            "1:31: array larger than the limit of 1099511627776 bytes");
  EXPECT_EQ(error_of(".global .u32 a[2][0];"), "1:18: only the first extent of an array can be 0");
  EXPECT_EQ(error_of(".global .u32 a[2] = {1, 2, 3};"),
            "1:28: too many values for 'a': its extents hold 2 here");
  EXPECT_EQ(error_of(".global .u32 a[2] = {{1}};"),
            "1:22: more nested braces than 'a' has dimensions");
  EXPECT_EQ(error_of(".global .u32 a[2][2] = {1, {1}};"),
            "1:28: braces must begin a row: write the row before it in braces, too");
  EXPECT_EQ(error_of(".global .u32 a[2] = 1;"),
            "1:21: '1' where '{' before the values of an array was expected");
  EXPECT_EQ(error_of(".global .u32 a = b;"),
            "1:18: 'b' is not declared: declare it before its use");
  EXPECT_EQ(error_of(".global .u32 a = 1.5;"), "1:18: a floating-point value does not fit .u32");
  EXPECT_EQ(error_of(".global .b8 a = 0xFF1(a);"),
            "1:17: mask '0xFF1' does not select one byte: use 0xFF, 0xFF00, ...");
  EXPECT_EQ(error_of(".global .u32 a = 0xFF(a);"),
            "1:18: a masked address fills a variable of bytes: use .b8");
  EXPECT_EQ(error_of(".global .u16 a = a;"),
            "1:18: an address does not fit .u16: use .u64, or 0xFF(symbol) masks");
  EXPECT_EQ(error_of(".global .f16 a = 1;"),
            "1:18: variables of type .f16 cannot be initialised: use .b8, .b16 or .b64");
  EXPECT_EQ(error_of(".extern .global .u32 a = 1;"),
            "1:24: an .extern variable has no initialiser: drop .extern");
  EXPECT_EQ(error_of(".shared .u32 a = 1;"),
            "1:16: .shared variables cannot be initialised: store to them in the kernel");
  EXPECT_EQ(error_of(".global .pred a;"), "1:9: .pred exists in registers only: use another type");
  EXPECT_EQ(
      error_of(".global .b8 a[300000000] = {1};"),
      "1:31: initialised variables beyond the limit of 256 MiB in a module: fill them at run time");
  EXPECT_EQ(error_of(".const[2] .u32 a;"),
            "1:7: banks of .const are not supported: leave the bank out");
  EXPECT_EQ(error_of(".global .u32 a"),
            "1:15: the end of the text where ';' after the declaration was expected");
}

}  // namespace
}  // namespace tw::ptx
