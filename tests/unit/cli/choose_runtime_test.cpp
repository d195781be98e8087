#include "cli/choose_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tw::cli {
namespace {

using testing::HasSubstr;

TEST(ChooseRuntime, EveryKindOfProgram) {
  const auto with = [](std::vector<std::string> needed, bool device_code) {
    cudart::ProgramFile program;
    program.needed = std::move(needed);
    program.dynamic = true;
    program.device_code = device_code;
    return program;
  };
  EXPECT_EQ(*choose_runtime(with({"libcudart.so.13", "libc.so.6"}, true), "p"), "libcudart.so.13");
  EXPECT_EQ(*choose_runtime(with({"libcudart.so.12"}, true), "p"), "libcudart.so.12");
  EXPECT_THAT(choose_runtime(with({"libcudart.so.11.0"}, true), "p").error().message,
              HasSubstr("CUDA 12 or 13 is needed"));
  EXPECT_THAT(choose_runtime(with({"libc.so.6"}, false), "p").error().message,
              HasSubstr("does not use the CUDA runtime"));
  for (const char* library : {"libcublas.so.13", "libcufft.so.12", "libcurand.so.10",
                              "libcudnn.so.9", "libnccl.so.2", "libcuda.so.1"})
    EXPECT_THAT(choose_runtime(with({"libcudart.so.13", library}, true), "p").error().message,
                HasSubstr(library));
}

TEST(ChooseRuntime, LinkedStatically) {
  cudart::ProgramFile program;
  program.needed = {"libc.so.6"};
  program.dynamic = program.device_code = program.has_symbols = true;
  EXPECT_THAT(choose_runtime(program, "p").error().message, HasSubstr("no CUDA runtime is found"));
  program.runtime_entries = {{"__cudaRegisterFatBinary", 0x1000, 16}};
  EXPECT_THAT(choose_runtime(program, "p").error().message, HasSubstr("neither that of CUDA 12"));
  for (const int abi : {12, 13}) {
    program.static_abi = abi;
    EXPECT_EQ(*choose_runtime(program, "p"), "libcudart.so." + std::to_string(abi));
  }
  program.dynamic = false;
  EXPECT_THAT(choose_runtime(program, "p").error().message, HasSubstr("-static"));
  program.dynamic = true;
  program.static_abi = 0;
  program.has_symbols = false;
  program.runtime_entries.clear();
  const auto stripped = choose_runtime(program, "p");
  EXPECT_THAT(stripped.error().message, HasSubstr("stripped"));
  EXPECT_THAT(stripped.error().message, HasSubstr("nvcc -cudart shared -o p"));
}

}  // namespace
}  // namespace tw::cli
