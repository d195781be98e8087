#include <gmock/gmock.h>

#include "ptx_test.h"

namespace tw::ptx {
namespace {

using testing::ElementsAre;

std::vector<std::string> register_names(const Function& f) {
  std::vector<std::string> names;
  for (const Register& r : f.registers) names.push_back(r.name);
  return names;
}

TEST(Functions, HeaderDirectives) {
  const Module m = parsed(R"(
.weak .entry a() .reqntid 32, 4 .reqnctapercluster 2 .explicitcluster .maxnreg 64 .maxclusterrank 8
.maxnctapersm 1 .pragma "nounroll"; { ret; }
.entry b .maxntid 256 { ret; }
.func .noreturn c() { trap; }
.func d() .noreturn;
)");
  const Function& a = m.functions[0];
  EXPECT_EQ(a.linkage, Linkage::weak);
  EXPECT_EQ(a.req_ntid, (std::array<uint32_t, 3>{32, 4, 1}));
  EXPECT_EQ(a.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_TRUE(a.explicit_cluster);
  EXPECT_EQ(a.max_registers, 64u);
  EXPECT_EQ(a.max_cluster_rank, 8u);
  EXPECT_THAT(a.pragmas, ElementsAre("nounroll"));
  EXPECT_EQ(m.functions[1].max_ntid, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_TRUE(m.functions[2].no_return);
  EXPECT_TRUE(m.functions[3].no_return);
  EXPECT_FALSE(m.functions[3].has_body);
}

TEST(Functions, Parameters) {
  const Module m = parsed(R"(
.func (.param .align 16 .b8 r[16]) f(.param .b64 a, .param .align 8 .b8 b[24], .param .u64 .ptr .shared .align 4 c) { ret; }
)");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.returns[0].bytes, 16u);
  EXPECT_EQ(f.returns[0].alignment, 16u);
  EXPECT_EQ(f.parameters[1].bytes, 24u);
  EXPECT_EQ(f.parameters[2].alignment, 8u);  // .align behind .ptr speaks of what is pointed at
}

TEST(Functions, ParametersInRegisters) {
  const Module m = parsed(R"(
.func (.reg .u32 %res) inc(.reg .u32 %ptr, .reg .u32 %inc) { add.u32 %res, %ptr, %inc; ret; }
)");
  EXPECT_EQ(m.functions[0].parameters[0].space, Space::reg);
  EXPECT_THAT(register_names(m.functions[0]), ElementsAre("%res", "%ptr", "%inc"));
}

TEST(Functions, DefinitionTakesThePlaceOfItsDeclaration) {
  const Module m = parsed(R"(
.func (.param .b32 r) g(.param .b32 p);
.visible .entry k() { .reg .b32 %r<2>; { .param .b32 a; .param .b32 b; call (b), g, (a); } ret; }
.visible .func (.param .b32 r) g(.param .b32 p) { ret; }
)");
  ASSERT_EQ(m.functions.size(), 2u);
  EXPECT_EQ(m.functions[0].name, "g");
  EXPECT_TRUE(m.functions[0].has_body);
  EXPECT_EQ(m.functions[0].linkage, Linkage::visible);
  EXPECT_EQ(m.find_function("g"), &m.functions[0]);
  EXPECT_EQ(m.find_function("k"), &m.functions[1]);
  EXPECT_EQ(m.find_function("x"), nullptr);
}

TEST(Functions, CallsAhead) {
  const Module m = parsed(
      ".func b();\n.func a() { call b; ret; }\n.func c() { ret; }\n.func b() { call.uni a; ret; "
      "}\n");
  ASSERT_EQ(m.functions.size(), 3u);
  EXPECT_EQ(m.functions[1].instructions[0].operands[0].symbol.index, 0u);
}

TEST(Functions, Recursion) { parsed(".func a() { call a; ret; }"); }

TEST(Functions, Alias) {
  const Module m = parsed(".visible .func a();\n.visible .func b() { ret; }\n.alias a, b;\n");
  ASSERT_EQ(m.aliases.size(), 1u);
  EXPECT_EQ(m.aliases[0].first, "a");
  EXPECT_EQ(m.aliases[0].second, "b");
}

TEST(Calls, AllForms) {
  const Module m = parsed(R"(
.extern .func (.param .b32 r) f(.param .b32 a, .param .b32 b);
.extern .func g();
.func k() {
  .reg .b64 %rd<3>;
  .param .b32 x; .param .b32 y; .param .b32 z;
  call.uni (z), f, (x, y);
  call g;
  call.uni g, ();
  proto : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;
  call (z), %rd1, (x, y), proto;
  p2: .callprototype _ ();
  call %rd1, p2;
  ret;
}
)");
  const Function& f = m.functions[2];
  const Instruction& direct = f.instructions[0];
  ASSERT_EQ(direct.operands.size(), 3u);
  EXPECT_EQ(direct.operands[0].kind, Operand::Kind::list);
  EXPECT_EQ(direct.operands[1].symbol.kind, SymbolRef::Kind::function);
  EXPECT_EQ(direct.operands[2].elements.size(), 2u);
  EXPECT_EQ(direct.operands[2].elements[1].symbol.index, 1u);
  EXPECT_EQ(f.instructions[1].operands.size(), 1u);
  const Instruction& indirect = f.instructions[3];
  ASSERT_EQ(indirect.operands.size(), 4u);
  EXPECT_EQ(indirect.operands[1].kind, Operand::Kind::reg);
  EXPECT_EQ(indirect.operands[3].kind, Operand::Kind::table);
  EXPECT_EQ(indirect.operands[3].name, "proto");
  EXPECT_EQ(indirect.operands[3].index, 0u);
  ASSERT_EQ(f.prototypes.size(), 2u);
  EXPECT_EQ(f.prototypes[0].parameters[1].bytes, 16u);
  EXPECT_TRUE(f.prototypes[0].no_return);
  EXPECT_EQ(f.instructions[4].operands[1].index, 1u);
}

TEST(Scopes, ShadowedRegistersAreOfTheirOwn) {
  const Module m = body(R"(
  .reg .b32 %r<4>, t;
  mov.u32 t, 1;
  { .reg .b32 t; mov.u32 t, 2; { .reg .b64 t; mov.u64 t, 3; } mov.u32 t, 4; }
  { .reg .f32 t; mov.f32 t, 0f00000000; }
  mov.u32 t, %r1;
)");
  const Function& f = m.functions[0];
  EXPECT_THAT(register_names(f), ElementsAre("t", "t_1", "t_2", "t_3", "%r1"));
  EXPECT_EQ(f.registers[2].type, Type::b64);
  EXPECT_EQ(f.registers[3].type, Type::f32);
  EXPECT_EQ(f.instructions[3].operands[0].reg, 1u);
  EXPECT_EQ(f.instructions[5].operands[0].reg, 0u);
}

TEST(Scopes, ShadowedRanges) {
  const Module m = body(R"(
  .reg .b32 %r<10>;
  mov.u32 %r1, 1;
  { .reg .b64 %r<3>; mov.u64 %r1, 2; mov.u32 %r5, 3; }
  mov.u32 %r1, %r5;
)");
  const Function& f = m.functions[0];
  EXPECT_THAT(register_names(f), ElementsAre("%r1", "%r1_1", "%r5"));
  EXPECT_EQ(f.registers[1].type, Type::b64);
  EXPECT_EQ(f.instructions[3].operands[0].reg, 0u);
  EXPECT_EQ(f.instructions[3].operands[1].reg, 2u);
}

TEST(Scopes, MadeNamesGiveWayToNothing) {
  const Module m = body(R"(
  { .reg .b32 t; mov.u32 t, 1; }
  { .reg .b32 t; mov.u32 t, 2; }
  .reg .b32 t_1;
  mov.u32 t_1, 3;
)");
  EXPECT_THAT(register_names(m.functions[0]), ElementsAre("t", "t_1", "t_1_1"));
}

TEST(Scopes, CallSequencesReuseNames) {
  const Module m = body(R"(
  { .param .b64 param0; .reg .b32 temp_param_reg; st.param.b64 [param0+0], 1; }
  { .param .b32 param0; st.param.b32 [param0+0], 2; }
)");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.variables.size(), 2u);
  EXPECT_EQ(f.variables[0].name, "param0");
  EXPECT_EQ(f.variables[1].name, "param0_1");
  EXPECT_EQ(f.variables[1].bytes, 4u);
  EXPECT_EQ(f.instructions[1].operands[0].elements[0].symbol.index, 1u);
}

TEST(Scopes, LocalNamesDoNotHideUsedModuleSymbols) {
  const Module m = parsed(R"(
.global .u32 x;
.func f() {
  .reg .b64 %rd<3>;
  { .reg .b32 x; mov.u32 x, 5; }
  mov.u64 %rd1, x;
  ret;
}
.func g() {
  .reg .b64 %rd<3>;
  mov.u64 %rd1, x;
  .shared .u32 x;
  mov.u64 %rd2, x;
  ret;
}
)");
  EXPECT_THAT(register_names(m.functions[0]), ElementsAre("x_1", "%rd1"));
  EXPECT_EQ(m.functions[1].variables[0].name, "x_1");
  EXPECT_EQ(m.functions[1].instructions[0].operands[1].symbol.kind,
            SymbolRef::Kind::module_variable);
  EXPECT_EQ(m.functions[1].instructions[1].operands[1].symbol.kind,
            SymbolRef::Kind::function_variable);
}

TEST(Scopes, RegistersOfNestedScopesOutliveNothing) {
  EXPECT_EQ(error_of(".func f() {\n{ .reg .b32 t; }\nmov.u32 t, 1;\n}"),
            "3:9: 't' is not declared: declare it before its use");
  EXPECT_EQ(error_of(".func f() {\n{ .reg .b32 %t<4>; mov.u32 %t1, 1; }\nmov.u32 %t1, 1;\n}"),
            "3:9: register '%t1' is not declared: add a .reg for it");
}

TEST(Registers, RangesCostNothing) {
  const Module m = body(".reg .b32 %r<16777216>;\nmov.u32 %r16777215, %r0;");
  EXPECT_EQ(m.functions[0].registers.size(), 2u);
}

TEST(Registers, RangesWhosePrefixEndsInADigit) {
  const Module m = body(".reg .b32 %r1<5>; .reg .b64 %r<5>;\nmov.u32 %r14, 0; mov.u64 %r1, 2;");
  EXPECT_EQ(m.functions[0].registers[0].type, Type::b32);
  EXPECT_EQ(m.functions[0].registers[1].type, Type::b64);
}

TEST(Registers, PrintedRangesTakeNoOtherName) {
  const Module m = parsed(R"(
.global .u32 x1;
.func f(.param .b32 y1, .reg .b32 z1) {
  .reg .b64 x3, y3, z3;
  mov.u64 x3, x1;
  mov.u64 y3, y1;
  mov.u64 z3, z1;
  ret;
}
)");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.instructions[0].operands[1].symbol.kind, SymbolRef::Kind::module_variable);
  EXPECT_EQ(f.instructions[1].operands[1].symbol.kind, SymbolRef::Kind::parameter);
  EXPECT_EQ(f.registers[f.instructions[2].operands[1].reg].type, Type::b32);
}

TEST(Registers, RangesHideParameters) {
  const Module m = parsed(R"(
.func f(.param .b32 y1, .reg .b32 z1) {
  .reg .b64 y<4>, z<4>;
  mov.u64 y1, z1;
  ret;
}
)");
  EXPECT_THAT(register_names(m.functions[0]), ElementsAre("y1_1", "z1_1"));
  EXPECT_EQ(m.functions[0].registers[1].type, Type::b64);
}

TEST(Registers, Vectors) {
  const Module m = body(R"(
  .reg .v4 .f32 %v; .reg .v2 .b32 w;
  ld.global.v4.f32 %v, [64];
  add.f32 %v.x, %v.y, %v.w;
  mov.b32 w.y, 3;
)");
  const Function& f = m.functions[0];
  EXPECT_THAT(register_names(f), ElementsAre("%v_x", "%v_y", "%v_z", "%v_w", "w_y"));
  EXPECT_EQ(f.instructions[0].operands[0].kind, Operand::Kind::vector);
  EXPECT_EQ(f.instructions[1].operands[2].reg, 3u);
}

TEST(Labels, ForwardBackwardAndAtTheEnd) {
  const Module m = body(".reg .pred p;\nA:\nB: bra C;\n@!p bra.uni A;\nC:");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.labels.size(), 3u);
  EXPECT_EQ(f.labels[0].instruction, 0u);
  EXPECT_EQ(f.labels[1].instruction, 0u);
  EXPECT_EQ(f.labels[2].instruction, 2u);
  EXPECT_EQ(f.instructions[0].operands[0].index, 2u);
  EXPECT_EQ(f.instructions[1].operands[0].index, 0u);
}

TEST(Labels, OfScopesOfTheirOwn) {
  const Module m = body(R"(
  .reg .pred p;
  { WAIT: @p bra DONE; bra WAIT; DONE: }
  { WAIT: @p bra DONE; bra WAIT; DONE: }
  { bra DONE; }
  DONE: ret;
)");
  const Function& f = m.functions[0];
  std::vector<std::string> names;
  for (const Label& l : f.labels) names.push_back(l.name);
  EXPECT_THAT(names, ElementsAre("WAIT", "DONE", "WAIT_1", "DONE_1", "DONE_2"));
  EXPECT_EQ(f.instructions[2].operands[0].index, 3u);
  EXPECT_EQ(f.instructions[4].operands[0].index, 4u);
}

TEST(Labels, MayHaveTheNameOfAVariable) {
  const Module m =
      parsed(".global .u32 x;\n.func f() { .reg .b64 d; mov.u64 d, x; bra x; x: ret; }");
  EXPECT_EQ(m.functions[0].instructions[1].operands[0].kind, Operand::Kind::label);
}

TEST(Labels, BranchTables) {
  const Module m = body(R"(
  .reg .b32 %r<2>;
  ts: .branchtargets L0, L1,
      L0;
  brx.idx %r1, ts;
L0: ret;
L1: ret;
)");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.branch_tables.size(), 1u);
  EXPECT_THAT(f.branch_tables[0].labels, ElementsAre(0, 1, 0));
  EXPECT_EQ(f.instructions[0].operands[1].kind, Operand::Kind::table);
  EXPECT_EQ(f.instructions[0].operands[1].name, "ts");
}

TEST(Bodies, EmptyStatementsCommentsPragmas) {
  const Module m = body(R"(
  ; ;
  // begin inline asm
  .pragma "nounroll";
  /* a
     b */ ret; /**/
  // end inline asm
)");
  EXPECT_EQ(m.functions[0].instructions.size(), 1u);
  EXPECT_THAT(m.functions[0].pragmas, ElementsAre("nounroll"));
}

TEST(Bodies, UsedBytesOfALoad) {
  const Module m = body(R"(
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  .pragma "used_bytes_mask 1";
  ld.global.u32 %r1, [%rd1];
  ld.global.u32 %r2, [%rd1+4];
  .pragma "used_bytes_mask 0xf";
  ld.global.u32 %r2, [%rd1+8];
  .pragma "used_bytes_mask many";
)");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.instructions[0].used_bytes, 1u);
  EXPECT_EQ(f.instructions[1].used_bytes, Instruction::kAllBytes);
  EXPECT_EQ(f.instructions[2].used_bytes, 15u);
  EXPECT_THAT(f.pragmas, ElementsAre("used_bytes_mask many"));
}

TEST(Bodies, SharedAndLocalVariables) {
  const Module m = body(R"(
  .local .align 16 .b8 depot[16]; .shared .v2 .f32 s[4][2], t; .extern .shared .b8 dyn[];
  .reg .b32 %r<3>;
  mov.u32 %r1, depot;
  st.shared.f32 [s+8], 0f00000000;
  mov.u32 %r2, dyn;
)");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.variables.size(), 4u);
  EXPECT_EQ(f.variables[0].space, Space::local);
  EXPECT_EQ(f.variables[1].bytes, 64u);
  EXPECT_EQ(f.variables[3].linkage, Linkage::external);
  EXPECT_EQ(f.instructions[1].operands[0].offset, 8);
}

TEST(FunctionErrors, Places) {
  EXPECT_EQ(error_of(".func f() {\n  ret;\n"), "1:11: body without an end: add '}'");
  EXPECT_EQ(
      error_of(".func f()"),
      "1:10: the end of the text where '{' of the body or ';' after a declaration was expected");
  EXPECT_EQ(error_of(".func f() { ret; }\n.func f() { ret; }"),
            "2:7: 'f' is already defined: choose another name");
  EXPECT_EQ(error_of(".func f();\n.entry f() { ret; }"), "2:8: 'f' was declared as .func before");
  EXPECT_EQ(error_of(".global .u32 f;\n.func f() { ret; }"),
            "2:7: 'f' is already a variable: choose another name");
  EXPECT_EQ(error_of(".func f() {\n  bra X;\n}"),
            "2:7: label 'X' is not defined here or in a scope around: define it");
  EXPECT_EQ(error_of(".func f() {\n  bra X;\n  { X: ret; }\n}"),
            "2:7: label 'X' is not defined here or in a scope around: define it");
  EXPECT_EQ(error_of(".func f() {\nX: X: ret;\n}"),
            "2:4: label 'X' is already defined in this scope: choose another name");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 a, a;\n}"),
            "2:14: 'a' is already declared in this scope: choose another name");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 %a<2>, %a<3>;\n}"),
            "2:18: '%a<...>' is already declared in this scope: choose another name");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 %laneid;\n}"),
            "2:11: '%laneid' is a special register: choose another name");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 %r<16777217>;\n}"),
            "2:14: 16777217 is more than 16777216");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 %r<0>;\n}"),
            "2:14: a range needs at least one register");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 a = 5;\n}"),
            "2:13: registers cannot be initialised: use mov");
  EXPECT_EQ(error_of(".func f() {\n.reg .b33 a;\n}"),
            "2:6: '.b33' where a register type such as .b32 was expected");
  EXPECT_EQ(error_of(".func f() {\n.global .b32 a;\n}"),
            "2:1: .global variables inside a body are not supported: move it to module level");
  EXPECT_EQ(error_of(".func f() {\n.local .b32 a = 1;\n}"),
            "2:15: variables of a function body cannot be initialised: store to them");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 a;\n@a ret;\n}"),
            "3:2: 'a' is not a .pred register: a guard is one");
  EXPECT_EQ(error_of(".func f() {\n%r1 = 5;\n}"),
            "2:1: '%r1' is not an instruction: expected an opcode");
  EXPECT_EQ(error_of(".func f() {\ncall g;\n}"),
            "2:6: 'g' is not declared: declare it before its use");
  EXPECT_EQ(error_of(".global .u32 g;\n.func f() {\ncall g;\n}"),
            "3:6: 'g' is neither a function nor a register: it cannot be called");
  EXPECT_EQ(error_of(".func f() {\n.reg .b64 d;\nL: call d, L;\n}"),
            "3:12: 'L' is not a prototype: name a .callprototype");
  EXPECT_EQ(error_of(".func f() {\n.reg .b32 d;\nL: brx.idx d, L;\n}"),
            "3:15: 'L' is not a table: name a .branchtargets list");
  EXPECT_EQ(error_of(".func f() {\nT: .branchtargets T;\n}"),
            "2:19: 'T' is not a label: list labels in .branchtargets");
  EXPECT_EQ(error_of(".func f() {\nT: .calltargets f;\n}"),
            "2:4: .calltargets is not supported: use .callprototype");
  EXPECT_EQ(error_of(".func f(.param .b32 a, .param .b32 a) { ret; }"),
            "1:36: 'a' is already declared in this scope: choose another name");
  EXPECT_EQ(error_of(".alias a, b;"),
            "1:8: 'a' is not a declared function: declare it with .func before .alias");
}

TEST(FunctionErrors, NestingIsBounded) {
  const std::string deep = ".func f() {" + std::string(100000, '{');
  EXPECT_EQ(error_of(deep), "1:211: more than 200 nested scopes: flatten them");
}

TEST(ModuleErrors, Places) {
  EXPECT_EQ(parse("", "x.ptx").error().to_string(),
            "x.ptx:1:1: the end of the text where .version, the first line of PTX, was expected");
  EXPECT_EQ(parse("\x7f"
                  "ELF",
                  "x.ptx")
                .error()
                .to_string(),
            "x.ptx:1:1: '?': character that no PTX text contains; is this a binary file?");
  EXPECT_EQ(parse(".version 9\n", "x.ptx").error().to_string(),
            "x.ptx:1:10: '9' where a version such as 9.0 was expected");
  EXPECT_EQ(parse(".version 9.0\n.target gfx90", "x.ptx").error().to_string(),
            "x.ptx:2:9: unknown target option 'gfx90'");
  EXPECT_EQ(parse(".version 9.0\n.target sm_90b", "x.ptx").error().to_string(),
            "x.ptx:2:9: 'sm_90b' is no target: write sm_90, sm_90a or the like");
  EXPECT_EQ(error_of(".address_size 34"), "1:15: an address has 64 or 32 bits");
  EXPECT_EQ(error_of(".file 1 \"a\"\n.address_size 34"), "2:15: an address has 64 or 32 bits");
  EXPECT_EQ(error_of(".reg .b32 r;"),
            "1:1: registers at module level are not supported: declare them in a body");
  EXPECT_EQ(error_of("hello"),
            "1:1: 'hello' where a function, a variable or a directive was expected");
  EXPECT_EQ(error_of(".visible .reg"),
            "1:10: '.reg' where .entry, .func, .global, .const or .shared was expected");
  EXPECT_EQ(error_of("  /* open"), "1:3: '/*': comment without an end: add */");
  EXPECT_EQ(error_of(".section .debug_info {"), "1:1: section without an end: add '}'");
}

}  // namespace
}  // namespace tw::ptx
