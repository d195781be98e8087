#include "sass/cubin.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "ptx/parser.h"

namespace tw::sass {
namespace {

std::vector<uint8_t> cubin() {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/data/sass/tiled.cubin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const KernelCode& the_kernel(const Result<std::vector<KernelCode>>& kernels) {
  EXPECT_TRUE(kernels.ok()) << kernels.error().to_string();
  EXPECT_EQ(kernels->size(), 1u);
  return kernels->front();
}

// On an H200 a warp makes 20 shared loads a tile (tests/data/seed-kernels-ncu-h200.tsv, T = 16): 16
// scalar ones of B and, joined four by four, 4 of A.
TEST(Cubin, LoadsOfTheTiledGemmAreJoinedAsOnTheHardware) {
  const std::vector<uint8_t> image = cubin();
  const auto kernels = read_cubin(image, "tiled.cubin");
  const KernelCode& k = the_kernel(kernels);
  std::map<uint32_t, int> loads, stores;
  for (const SharedAccess& a : k.shared) ++(a.store ? stores : loads)[a.width];
  EXPECT_EQ(loads, (std::map<uint32_t, int>{{4, 16}, {16, 4}}));
  EXPECT_EQ(stores, (std::map<uint32_t, int>{{4, 2}}));
}

TEST(Cubin, EverySharedAccessIsTracedToAPtxAccess) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/data/sass/tiled.ptx");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto module = ptx::parse(text, "tiled.ptx");
  ASSERT_TRUE(module.ok());
  const std::vector<uint8_t> image = cubin();
  const auto kernels = read_cubin(image, "tiled.cubin");
  const KernelCode& k = the_kernel(kernels);
  const ptx::Function* function = module->find_function(k.name);
  ASSERT_NE(function, nullptr);
  ASSERT_EQ(k.sass_of_ptx.size(), function->instructions.size());
  for (const SharedAccess& a : k.shared) {
    const std::string spelling = function->instructions[a.instruction].spelling();
    EXPECT_TRUE(spelling.starts_with(a.store ? "st.shared" : "ld.shared")) << spelling;
  }
  // Loads of A at offsets 0, 16, 32, 48 stand for their three neighbours, which have none.
  int joined = 0;
  for (uint32_t i = 0; i < function->instructions.size(); ++i)
    joined +=
        function->instructions[i].spelling().starts_with("ld.shared") && k.sass_of_ptx[i] == 0;
  EXPECT_EQ(joined, 12);
}

TEST(Cubin, DamagedFilesAreErrors) {
  const std::vector<uint8_t> image = cubin();
  EXPECT_FALSE(read_cubin({}, "empty").ok());
  EXPECT_FALSE(read_cubin(std::vector<uint8_t>(100, 0x7f), "noise").ok());
  for (size_t keep = 0; keep < image.size(); keep += 97)
    (void)read_cubin(std::span(image).first(keep), "cut");
  // One byte changed at a time, over headers and line table: no crash, whatever the answer.
  for (size_t at = 0; at < image.size(); at += 41) {
    std::vector<uint8_t> changed = image;
    changed[at] = uint8_t(changed[at] ^ 0xff);
    (void)read_cubin(changed, "changed");
  }
}

}  // namespace
}  // namespace tw::sass
