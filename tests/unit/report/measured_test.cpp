// The launch timer's file, and what becomes of it in a profile.
#include "report/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tw::report {
namespace {

using ::testing::HasSubstr;

TEST(Times, LinesAreLaunches) {
  const auto launches = read_times("_Z3addv\t8 1 1\t256 1 1\t2.5e-06\nmul\t1 2 3\t4 5 6\t1\n", "t");
  ASSERT_TRUE(launches.ok());
  ASSERT_EQ(launches->size(), 2u);
  EXPECT_EQ((*launches)[0].kernel, "_Z3addv");
  EXPECT_EQ((*launches)[0].grid, (std::array<uint32_t, 3>{8, 1, 1}));
  EXPECT_DOUBLE_EQ((*launches)[0].seconds, 2.5e-6);
  EXPECT_EQ((*launches)[1].block, (std::array<uint32_t, 3>{4, 5, 6}));
}

TEST(Times, AProgramThatWasKilledLeavesHalfALine) {
  const auto launches = read_times("k\t1 1 1\t1 1 1\t1\nk\t1 1", "t");
  ASSERT_TRUE(launches.ok());
  EXPECT_EQ(launches->size(), 1u);
}

TEST(Times, DamagedLinesAreNamed) {
  for (const char* line :
       {"\n", "k\n", "k\t1 1\t1 1 1\t1\n", "k\t1 1 1\t1 1 1\t\n", "k\t1 1 1\t1 1 1\t-1\n",
        "k\t1 1 1\t1 1 1\t1x\n", "k\t1 1 -1\t1 1 1\t1\n"}) {
    const auto launches = read_times(std::string("a\t1 1 1\t1 1 1\t1\n") + line, "file");
    ASSERT_FALSE(launches.ok()) << line;
    EXPECT_EQ(launches.error().line, 2u);
  }
}

Profile two_launches() {
  Profile profile;
  KernelProfile k;
  k.name = "add", k.mangled = "_Z3addv", k.verdict = "add is bound by DRAM.";
  k.predicted_seconds = 4e-6, k.prediction.seconds = 2e-6;
  k.prediction.bounds = {{"DRAM", 2e-6, false, 1}};
  profile.kernels = {k};
  for (uint32_t grid : {8u, 16u}) {
    LaunchProfile l;
    l.grid = {grid, 1, 1}, l.block = {256, 1, 1};
    profile.launches.push_back(l);
  }
  return profile;
}

MeasuredLaunch launch(uint32_t grid, double seconds) {
  return {"_Z3addv", {grid, 1, 1}, {256, 1, 1}, seconds};
}

TEST(AddMeasured, MedianOfTheLaunchesWithTheSameGrid) {
  Profile profile = two_launches();
  add_measured(profile, {launch(8, 9e-6), launch(8, 2e-6), launch(8, 3e-6), launch(16, 5e-6)},
               "NVIDIA H200");
  const KernelProfile& k = profile.kernels[0];
  EXPECT_DOUBLE_EQ(k.measured_seconds, 8e-6);
  EXPECT_EQ(k.measured_launches, 4u);
  EXPECT_DOUBLE_EQ(k.prediction.bounds[0].speed_of_light, 0.5);
  EXPECT_THAT(k.verdict, HasSubstr("2.00 times the prediction"));
  EXPECT_EQ(profile.measured_device, "NVIDIA H200");
}

TEST(AddMeasured, AKernelWithALaunchThatWasNotMeasuredHasNoTime) {
  Profile profile = two_launches();
  add_measured(profile, {launch(8, 2e-6)}, "NVIDIA H200");
  EXPECT_EQ(profile.kernels[0].measured_seconds, 0);
  EXPECT_EQ(profile.kernels[0].measured_launches, 0u);
  EXPECT_DOUBLE_EQ(profile.kernels[0].prediction.bounds[0].speed_of_light, 1);
}

}  // namespace
}  // namespace tw::report
