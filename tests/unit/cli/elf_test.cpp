#include "cli/elf.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace tw::cli {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> own_image() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Elf, ReadsThisTestProgram) {
  const auto program = read_program_file("/proc/self/exe");
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  EXPECT_TRUE(program->dynamic);
  EXPECT_FALSE(program->device_code);
  EXPECT_THAT(program->needed, testing::Contains("libc.so.6"));
  EXPECT_THAT(choose_runtime(*program, "prog").error().message,
              HasSubstr("does not use the CUDA runtime"));
}

TEST(Elf, EveryTruncationGivesAnErrorOrFewerFacts) {
  const std::vector<uint8_t> image = own_image();
  for (size_t n = 0; n < 4096 && n < image.size(); n += 7)
    (void)read_program({image.data(), n}, "cut").ok();
  for (size_t n = 0; n < 64; n++) EXPECT_FALSE(read_program({image.data(), n}, "cut").ok());
  EXPECT_FALSE(read_program({image.data(), image.size() / 2}, "cut").ok());
}

TEST(Elf, DamagedHeadersNeverCrash) {
  const std::vector<uint8_t> image = own_image();
  Elf64_Ehdr head;
  std::memcpy(&head, image.data(), sizeof head);
  for (size_t i = 0; i < sizeof(Elf64_Ehdr) + head.e_phnum * sizeof(Elf64_Phdr); i++)
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> damaged = image;
      damaged[i] ^= flip;
      (void)read_program(damaged, "damaged").ok();
    }
}

TEST(Elf, OtherFilesAreNamedAsSuch) {
  const std::string script = "#!/bin/sh\necho hello\n";
  const auto r =
      read_program({reinterpret_cast<const uint8_t*>(script.data()), script.size()}, "a.sh");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().file, "a.sh");
  EXPECT_THAT(r.error().message, HasSubstr("neither a CUDA source (.cu) nor an ELF program"));
  EXPECT_THAT(read_program_file("/nowhere/x").error().message, HasSubstr("no such file"));
  EXPECT_THAT(read_program_file("/").error().message, HasSubstr("no regular file"));
}

TEST(ChooseRuntime, EveryKindOfProgram) {
  const auto with = [](std::vector<std::string> needed, bool device_code) {
    return ProgramFile{.needed = std::move(needed), .dynamic = true, .device_code = device_code};
  };
  EXPECT_EQ(*choose_runtime(with({"libcudart.so.13", "libc.so.6"}, true), "p"), "libcudart.so.13");
  EXPECT_EQ(*choose_runtime(with({"libcudart.so.12"}, true), "p"), "libcudart.so.12");
  EXPECT_THAT(choose_runtime(with({"libcudart.so.11.0"}, true), "p").error().message,
              HasSubstr("CUDA 12 or 13 is needed"));
  const auto fixed = choose_runtime(with({"libc.so.6"}, true), "p");
  EXPECT_THAT(fixed.error().message, HasSubstr("static CUDA runtime"));
  EXPECT_THAT(fixed.error().message, HasSubstr("nvcc -cudart shared -o p"));
  for (const char* library : {"libcublas.so.13", "libcufft.so.12", "libcurand.so.10",
                              "libcudnn.so.9", "libnccl.so.2", "libcuda.so.1"})
    EXPECT_THAT(choose_runtime(with({"libcudart.so.13", library}, true), "p").error().message,
                HasSubstr(library));
}

}  // namespace
}  // namespace tw::cli
