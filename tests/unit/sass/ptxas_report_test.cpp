#include "sass/ptxas_report.h"

#include <gtest/gtest.h>

namespace tw::sass {
namespace {

TEST(PtxasReport, ResourcesOfEachKernel) {
  const auto kernels = parse_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z1aPf\n"
      "    96 bytes stack frame, 88 bytes spill stores, 120 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 8192 "
      "bytes smem\n"
      "ptxas info    : Compiling entry function '_Z1bv' for 'sm_90'\n"
      "ptxas info    : Used 6 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "_Z1aPf");
  EXPECT_EQ(kernels[0].registers, 255u);
  EXPECT_EQ(kernels[0].barriers, 1u);
  EXPECT_EQ(kernels[0].stack_bytes, 96u);
  EXPECT_EQ(kernels[0].spill_store_bytes, 88u);
  EXPECT_EQ(kernels[0].spill_load_bytes, 120u);
  EXPECT_EQ(kernels[0].shared_bytes, 8192u);
  EXPECT_EQ(kernels[1].registers, 6u);
  EXPECT_EQ(kernels[1].shared_bytes, 0u);
}

TEST(PtxasReport, OtherTextGivesNothing) {
  EXPECT_TRUE(parse_ptxas_report("").empty());
  EXPECT_TRUE(parse_ptxas_report("Used 3 registers\nerror : something").empty());
}

}  // namespace
}  // namespace tw::sass
