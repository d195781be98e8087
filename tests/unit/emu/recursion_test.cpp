// Functions that call themselves (src/emu/lower_call.cpp): what compilers do not emit, but the
// manual allows. Programs with real recursion: tests/e2e/suite/recursion.cu.
#include <gmock/gmock.h>

#include <functional>

#include "kernel_runner.h"

namespace tw::emu {
namespace {

// out[tid] = f(in[tid]); `function` is the PTX of `f`.
std::string calls_f(const std::string& function) {
  return ".func (.param .b32 r) f(.param .b32 n);\n" + function + R"(
.visible .entry k(.param .u64 out, .param .u64 in) {
  .reg .b32 %r<4>; .reg .b64 %rd<6>;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  ld.param.u64 %rd2, [in];
  add.u64 %rd3, %rd2, %rd1;
  ld.global.u32 %r2, [%rd3];
  { .param .b32 p; .param .b32 q;
    st.param.b32 [p], %r2;
    call (q), f, (p);
    ld.param.b32 %r3, [q]; }
  ld.param.u64 %rd4, [out];
  add.u64 %rd5, %rd4, %rd1;
  st.global.u32 [%rd5], %r3;
  ret;
})";
}

std::vector<uint32_t> results(const std::string& function, const std::vector<uint32_t>& arguments) {
  KernelRunner runner;
  Status loaded = runner.load(calls_f(function));
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().to_string());
  std::vector<uint32_t> none(arguments.size());
  uint64_t out = runner.buffer(none), in = runner.buffer(arguments);
  Fault fault = runner.run({1, 1, 1}, {uint32_t(arguments.size()), 1, 1}, {out, in});
  EXPECT_EQ(fault.kind, FaultKind::none) << fault.message;
  return runner.read<uint32_t>(out, arguments.size());
}

TEST(Recursion, ReturnValueWrittenBeforeTheInnerCallAndParameterReadAfterIt) {
  // f(n) = n == 0 ? 1 : n * f(n - 1), with the value for n == 0 stored first.
  EXPECT_THAT(results(R"(
.func (.param .b32 r) f(.param .b32 n) {
  .reg .b32 %r<6>; .reg .pred %p;
  st.param.b32 [r], 1;
  ld.param.b32 %r1, [n];
  setp.eq.u32 %p, %r1, 0;
  @%p bra done;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), f, (a);
    ld.param.b32 %r3, [b]; }
  ld.param.b32 %r4, [n];
  mul.lo.u32 %r5, %r3, %r4;
  st.param.b32 [r], %r5;
done:
  ret;
})",
                      {0, 1, 2, 3, 4, 5, 6, 7, 10, 0, 12}),
              testing::ElementsAre(1, 1, 2, 6, 24, 120, 720, 5040, 3628800, 1, 479001600));
}

TEST(Recursion, GuardedCallInALoopKeepsRegistersWrittenLater) {
  // f(n): sum over i < n of (previous i, or 0) + f(i); %r6 is written behind the call and read
  // before it in the next round; the call is guarded.
  auto f = [](auto&& self, uint32_t n) -> uint32_t {
    uint32_t sum = 0, previous = 0;
    for (uint32_t i = 0; i < n; ++i) {
      sum += previous;
      if (i & 1) sum += self(self, i);
      previous = i + 3;
    }
    return sum + 1;
  };
  std::vector<uint32_t> arguments, wanted;
  for (uint32_t i = 0; i < 40; ++i) {
    arguments.push_back(i % 9);
    wanted.push_back(f(f, i % 9));
  }
  EXPECT_THAT(results(R"(
.func (.param .b32 r) f(.param .b32 n) {
  .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.b32 %r1, [n];
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
  mov.u32 %r6, 0;
loop:
  setp.ge.u32 %p1, %r3, %r1;
  @%p1 bra done;
  add.u32 %r2, %r2, %r6;
  and.b32 %r4, %r3, 1;
  setp.ne.u32 %p2, %r4, 0;
  mov.u32 %r5, 0;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r3;
    st.param.b32 [b], 0;
    @%p2 call (b), f, (a);
    @%p2 ld.param.b32 %r5, [b]; }
  @%p2 add.u32 %r2, %r2, %r5;
  add.u32 %r6, %r3, 3;
  add.u32 %r3, %r3, 1;
  bra loop;
done:
  add.u32 %r7, %r2, 1;
  st.param.b32 [r], %r7;
  ret;
})",
                      arguments),
              testing::ElementsAreArray(wanted));
}

TEST(Recursion, WithoutEndIsAFaultThatNamesTheStack) {
  KernelRunner runner;
  ASSERT_TRUE(runner
                  .load(calls_f(R"(
.func (.param .b32 r) f(.param .b32 n) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [n];
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call (b), f, (a);
    ld.param.b32 %r2, [b]; }
  st.param.b32 [r], %r2;
  ret;
})"))
                  .ok());
  uint64_t buffer = runner.buffer(std::vector<uint32_t>(32));
  Fault fault = runner.run({1, 1, 1}, {32, 1, 1}, {buffer, buffer});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_THAT(fault.message, testing::HasSubstr("cudaLimitStackSize"));
}

// `count` functions f0, f1, ...; body(i) is the text between reading the argument into %r1 and
// storing %r2. The last one is called f.
std::string chain(uint32_t count, const std::function<std::string(uint32_t)>& body) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i)
    text += ".func (.param .b32 r) f" + (i + 1 < count ? std::to_string(i) : "") +
            "(.param .b32 n) {\n.reg .b32 %r<6>; .reg .pred %p; .param .b32 a; .param .b32 b;\n"
            "ld.param.b32 %r1, [n];\n" +
            body(i) + "st.param.b32 [r], %r2;\nret;\n}\n";
  return text;
}

TEST(Subroutine, CallsNestedDeeplyAreNotInlinedWithoutEnd) {
  const std::string text = chain(300, [](uint32_t i) -> std::string {
    if (i == 0) return "mov.u32 %r2, %r1;\n";
    return "add.u32 %r3, %r1, 1;\nst.param.b32 [a], %r3;\ncall (b), f" + std::to_string(i - 1) +
           ", (a);\nld.param.b32 %r2, [b];\nadd.u32 %r2, %r2, %r1;\n";
  });
  std::vector<uint32_t> arguments, wanted;
  for (uint32_t n = 0; n < 32; ++n) {
    uint32_t sum = n + 299;
    for (uint32_t i = 0; i < 299; ++i) sum += n + i;
    arguments.push_back(n), wanted.push_back(sum);
  }
  EXPECT_EQ(results(text, arguments), wanted);
}

TEST(Subroutine, CallTreesThatWouldExplodeAreNotInlined) {
  // Each level calls the one below twice, while bit i of the argument's complement allows it.
  const std::string text = chain(40, [](uint32_t i) -> std::string {
    if (i == 0) return "mov.u32 %r2, 1;\n";
    const std::string call = "call (b), f" + std::to_string(i - 1) +
                             ", (a);\nld.param.b32 %r3, [b];\nadd.u32 %r2, %r2, %r3;\n";
    return "st.param.b32 [a], %r1;\nmov.u32 %r2, 0;\n" + call + "and.b32 %r4, %r1, " +
           std::to_string(1u << (i % 32)) + ";\nsetp.eq.u32 %p, %r4, 0;\n@%p bra skip;\n" + call +
           "skip:\n";
  });
  const std::vector<uint32_t> arguments = {0, 2, 6, 0x80, 0x110, 0x42};
  std::vector<uint32_t> wanted;
  for (uint32_t n : arguments) {
    uint32_t leaves = 1;
    for (uint32_t i = 1; i < 40; ++i) leaves <<= n >> (i % 32) & 1;
    wanted.push_back(leaves);
  }
  EXPECT_EQ(results(text, arguments), wanted);
}

}  // namespace
}  // namespace tw::emu
