#include "ptx_test.h"

namespace tw::ptx {
namespace {

const SourceLocation& location(const Function& f, size_t instruction) {
  return f.locations.at(f.instructions.at(instruction).location);
}

TEST(Locations, FilesAndLines) {
  const Module m = parsed(R"(
.func f() {
  mov.u32 _, 0;
  .loc 2 10 5
  mov.u32 _, 1;
  mov.u32 _, 2;
  .loc 2 99 1
  .loc 2 11 0
  ret;
}
.file 2 "dir/a.cu"
.file 4 "b.cu", 1234, 99
)");
  ASSERT_EQ(m.files.size(), 5u);
  EXPECT_EQ(m.files[2], "dir/a.cu");
  EXPECT_EQ(m.files[3], "");
  EXPECT_EQ(m.files[4], "b.cu");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.instructions[0].location, kNone);
  EXPECT_EQ(location(f, 1).line, 10u);
  EXPECT_EQ(location(f, 1).column, 5u);
  EXPECT_EQ(f.instructions[1].location, f.instructions[2].location);
  EXPECT_EQ(location(f, 3).line, 11u);
  EXPECT_EQ(f.locations.size(), 2u);  // the row of line 99 is used by nothing
}

TEST(Locations, FileIndicesAlwaysHold) {
  const Module m = parsed(".func f() { .loc 7 1 1\n ret; }");
  EXPECT_EQ(m.files.size(), 8u);
}

TEST(Locations, EveryFunctionBeginsWithoutOne) {
  const Module m = parsed(".func f() { .loc 1 1 1\n ret; }\n.func g() { ret; }");
  EXPECT_EQ(m.functions[1].instructions[0].location, kNone);
}

TEST(Locations, Inlined) {
  const Module m = parsed(R"(
.func f() {
  .loc 1 20 3
  mov.u32 _, 0;
  .loc 1 14 5, function_name $L__info_string0, inlined_at 1 20 3
  mov.u32 _, 1;
  .loc 1 8 1, function_name $L__info_string0+6, inlined_at 1 14 5
  mov.u32 _, 2;
  .loc 1 9 1, function_name $L__info_string1, inlined_at 1 21 4
  ret;
}
.section .debug_str
{
$L__info_string0:
.b8 95,90,51,102,111,111
.b8 98,97,114,0
$L__info_string1:
.b8 113,0
}
)");
  const Function& f = m.functions[0];
  EXPECT_EQ(location(f, 0).inlined_at, kNone);
  EXPECT_EQ(location(f, 1).inlined_function, "_Z3foobar");
  EXPECT_EQ(location(f, 1).inlined_at, f.instructions[0].location);
  EXPECT_EQ(location(f, 2).inlined_function, "bar");
  EXPECT_EQ(location(f, 2).inlined_at, f.instructions[1].location);
  // A call site without a row of its own gets one.
  EXPECT_EQ(location(f, 3).inlined_function, "q");
  EXPECT_EQ(f.locations.at(location(f, 3).inlined_at).line, 21u);
}

TEST(Locations, TheLatestRowOfAPlaceIsMeant) {
  const Module m = parsed(R"(
.func f() {
  .loc 1 1 1
  mov.u32 _, 0;
  .loc 1 2 1
  mov.u32 _, 1;
  .loc 1 5 1, function_name A, inlined_at 1 1 1
  mov.u32 _, 2;
  .loc 1 7 1, function_name B, inlined_at 1 5 1
  mov.u32 _, 3;
  .loc 1 5 1, function_name A, inlined_at 1 2 1
  mov.u32 _, 4;
  .loc 1 7 1, function_name B, inlined_at 1 5 1
  mov.u32 _, 5;
  .loc 1 5 1, function_name A, inlined_at 1 1 1
  .loc 1 7 1, function_name B, inlined_at 1 5 1
  mov.u32 _, 6;
}
)");
  const Function& f = m.functions[0];
  EXPECT_EQ(location(f, 2).inlined_function, "A");  // no .debug_str: the label stands for the name
  EXPECT_EQ(location(f, 3).inlined_at, f.instructions[2].location);
  EXPECT_EQ(location(f, 5).inlined_at, f.instructions[4].location);
  EXPECT_NE(f.instructions[3].location, f.instructions[5].location);
  EXPECT_EQ(f.instructions[3].location, f.instructions[6].location);
}

TEST(Locations, ChainsOfARowInlinedIntoItselfEnd) {
  std::string text = ".func f() {\n";
  for (int i = 0; i < 2000; ++i)
    text += ".loc 1 1 1, function_name A, inlined_at 1 1 1\nmov.u32 _, 0;\n";
  const Module m = parsed(text + "}\n");
  EXPECT_LE(m.functions[0].locations.size(), 2001u);
}

TEST(Sections, AreSkipped) {
  const Module m = parsed(R"(
.section .debug_abbrev
{
.b8 1  // a brace in a comment }
.b32 .debug_info+4
}
.section .debug_macinfo { }
.func f() { ret; }
@@DWARF .section .debug_info
@@DWARF .byte 1
)");
  EXPECT_EQ(m.functions.size(), 1u);
}

TEST(LocationErrors, Places) {
  EXPECT_EQ(error_of(".func f() {\n.loc 1 2\nret;\n}"), "3:1: 'ret' where a column was expected");
  EXPECT_EQ(error_of(".func f() {\n.loc 1 2 3, nothing\n}"),
            "2:13: 'nothing' where function_name or inlined_at was expected");
  EXPECT_EQ(error_of(".file 70000 \"a\""), "1:7: 70000 is more than 65536");
  EXPECT_EQ(error_of(".file 1 a"), "1:9: 'a' where the path of the file in quotes was expected");
  EXPECT_EQ(error_of(".section .debug_str {\n.b8 1,256\n}"), "2:7: 256 is more than 255");
}

}  // namespace
}  // namespace tw::ptx
