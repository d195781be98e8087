// Roofs, ridge points, waves and the predicted bound, with values by hand.
#include "model/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tw::model {
namespace {

DeviceSpec device(const char* id) {
  auto spec = load_device_spec(id);
  EXPECT_TRUE(spec.ok()) << spec.error().to_string();
  return *spec;
}

TEST(Roofline, RoofsNameTheirBasis) {
  const DeviceSpec h200 = device("h200");
  const auto datasheet = memory_roofs(h200, Basis::kDatasheet);
  EXPECT_EQ(datasheet.front().level, "DRAM");
  EXPECT_DOUBLE_EQ(datasheet.front().gb_per_s, 4800);
  EXPECT_EQ(datasheet.front().basis, "datasheet");
  EXPECT_EQ(datasheet.back().level, "shared");
  EXPECT_NEAR(datasheet.back().gb_per_s, 132 * 1.98e9 * 128 * 1e-9, 1);
  const auto measured = memory_roofs(h200, Basis::kMeasured);
  EXPECT_DOUBLE_EQ(measured.front().gb_per_s, 4240);
  EXPECT_EQ(measured.front().basis, "measured");
  EXPECT_DOUBLE_EQ(pipe_roofs(h200, Basis::kMeasured).front().tflops, 52);
  // No measurement of an L40S: the measured basis falls back and says so.
  EXPECT_EQ(memory_roofs(device("l40s"), Basis::kMeasured).front().basis, "datasheet");
}

TEST(Roofline, AttainableIsTheLowerRoof) {
  const PipeRoof pipe{"FP32", 60, "datasheet"};
  const MemoryRoof dram{"DRAM", 3000, "datasheet"};
  EXPECT_DOUBLE_EQ(ridge(pipe, dram), 20);
  EXPECT_DOUBLE_EQ(attainable_tflops(pipe, dram, 10), 30);
  EXPECT_DOUBLE_EQ(attainable_tflops(pipe, dram, 20), 60);
  EXPECT_DOUBLE_EQ(attainable_tflops(pipe, dram, 1000), 60);
}

TEST(Waves, TailAndBalance) {
  const DeviceSpec h200 = device("h200");  // 132 SMs
  Waves w = waves(h200, {132 * 8, 8});
  EXPECT_DOUBLE_EQ(w.waves, 1);
  EXPECT_EQ(w.tail_blocks, 0u);
  EXPECT_DOUBLE_EQ(w.balance, 1);
  w = waves(h200, {132 * 8 + 1, 8});
  EXPECT_EQ(w.full_waves, 1u);
  EXPECT_EQ(w.tail_blocks, 1u);
  EXPECT_NEAR(w.wave_efficiency, 1057.0 / 2112, 1e-12);
  EXPECT_EQ(w.busiest_sm_blocks, 9u);
  EXPECT_NEAR(w.balance, 1057.0 / (132 * 9), 1e-12);
  w = waves(h200, {1, 8});
  EXPECT_NEAR(w.balance, 1.0 / 132, 1e-12);
  EXPECT_EQ(waves(h200, {}).busiest_sm_blocks, 0u);
  EXPECT_TRUE(std::isfinite(waves(h200, {UINT64_MAX, 32}).balance));
}

TEST(Predict, TheLargestBoundIsNamed) {
  const DeviceSpec h100 = device("h100");
  KernelWork work;
  work.dram_bytes = 3.35e9;                              // 1 ms
  work.fp32_instructions = 132 * 1.98e9 * 128 * 0.5e-3;  // 0.5 ms
  Prediction p = predict(h100, Basis::kDatasheet, work, {132 * 100, 8});
  EXPECT_EQ(p.bound, "DRAM");
  EXPECT_NEAR(p.seconds, 1e-3, 1e-9);
  ASSERT_EQ(p.bounds.size(), 2u);
  EXPECT_NEAR(p.bounds[1].speed_of_light, 0.5, 1e-6);
  // One block: its SM has the whole work, and DRAM does not care.
  p = predict(h100, Basis::kDatasheet, work, {1, 8});
  EXPECT_EQ(p.bound, "FP32 pipe");
  EXPECT_NEAR(p.seconds, 0.5e-3 * 132, 1e-6);
  // Against a measured time.
  p = predict(h100, Basis::kDatasheet, work, {132 * 100, 8}, 2e-3);
  EXPECT_NEAR(p.bounds[0].speed_of_light, 0.5, 1e-6);
  EXPECT_EQ(predict(h100, Basis::kDatasheet, {}, {}).seconds, 0);
}

TEST(Predict, SharedWavefrontsTakeOneClockEach) {
  const DeviceSpec h200 = device("h200");
  KernelWork work;
  work.shared_wavefronts = 132 * 1.98e6;  // 1.98e6 clocks on each SM
  const Prediction p = predict(h200, Basis::kDatasheet, work, {132, 1});
  EXPECT_EQ(p.bound, "shared memory");
  EXPECT_NEAR(p.seconds, 1e-3, 1e-9);
}

TEST(Predict, SharedMemoryAndL1AreOnePipe) {
  const DeviceSpec h200 = device("h200");
  KernelWork work;
  work.shared_wavefronts = 132 * 1.98e6;
  work.l1_wavefronts = 132 * 0.99e6;
  const Prediction p = predict(h200, Basis::kDatasheet, work, {132, 1});
  EXPECT_EQ(p.bound, "shared memory");
  EXPECT_NEAR(p.seconds, 1.5e-3, 1e-9);
  ASSERT_EQ(p.bounds.size(), 1u);
  work.l1_wavefronts = 132 * 1.99e6;
  EXPECT_EQ(predict(h200, Basis::kDatasheet, work, {132, 1}).bound, "L1");
}

void set_measured(DeviceSpec& device, const std::string& key, double value) {
  std::erase_if(device.sources,
                [&](const SourcedNumber& s) { return s.section == "measured" && s.key == key; });
  device.sources.push_back({"measured", key, value, "a test", "", 0});
}

TEST(Predict, ScatteredStoresAreBoundByTheLinesThatL2Takes) {
  DeviceSpec h200 = device("h200");
  set_measured(h200, "l2_write_glines_per_s", 50);
  KernelWork work;
  work.l2_bytes = 1e6;
  work.l2_written_lines = 50e6;
  const Prediction p = predict(h200, Basis::kMeasured, work, {132, 1});
  EXPECT_EQ(p.bound, "L2 writes");
  EXPECT_NEAR(p.seconds, 1e-3, 1e-9);
  // Nobody measured it on the datasheet's device.
  EXPECT_NE(predict(h200, Basis::kDatasheet, work, {132, 1}).bound, "L2 writes");
}

TEST(Predict, WhatALaunchCostsIsKeptApart) {
  DeviceSpec h200 = device("h200");
  set_measured(h200, "launch_us", 5);
  KernelWork work;
  work.dram_bytes = h200.measured.dram_gb_per_s * 1e3;  // 1 us
  const Prediction p = predict(h200, Basis::kMeasured, work, {132, 1});
  EXPECT_NEAR(p.seconds, 1e-6, 1e-12);
  EXPECT_NEAR(p.launch_seconds, 5e-6, 1e-12);
  EXPECT_EQ(predict(h200, Basis::kDatasheet, work, {132, 1}).launch_seconds, 0);
}

TEST(Predict, LaunchesInSequenceAreSummed) {
  const DeviceSpec h200 = device("h200");
  KernelWork copy, compute;
  copy.dram_bytes = h200.dram_gb_per_s * 1e3;  // 1 us
  copy.shared_wavefronts = 132 * 1.98e3 / 2;   // half a us on 132 SMs
  compute.l1_wavefronts = 132 * 1.98e3 * 4;    // 4 us
  compute.dram_bytes = h200.dram_gb_per_s * 1e3;
  const Prediction a = predict(h200, Basis::kDatasheet, copy, {132, 1}),
                   b = predict(h200, Basis::kDatasheet, compute, {66, 2});
  const Prediction sum = in_sequence({a, b, b});
  EXPECT_NEAR(sum.seconds, a.seconds + 2 * b.seconds, 1e-12);
  EXPECT_EQ(sum.bound, "L1");  // one pipe, named by where it is busiest
  ASSERT_EQ(sum.bounds.size(), 2u);
  EXPECT_NEAR(sum.bounds[0].seconds, a.bounds[1].seconds + 2 * b.seconds, 1e-12);
  EXPECT_NEAR(sum.bounds[1].seconds, 3e-6, 1e-9);
  EXPECT_LT(sum.bounds[0].speed_of_light, 1);  // the copy is bound by something else
  EXPECT_NEAR(sum.bounds[1].speed_of_light, 3e-6 / sum.seconds, 1e-6);
  EXPECT_NEAR(sum.waves.waves, 1 + 2 * 0.25, 1e-12);
  EXPECT_EQ(sum.waves.tail_blocks, 132u);
  EXPECT_NEAR(sum.waves.wave_efficiency, 0.5, 1e-12);
  EXPECT_EQ(in_sequence({a}).seconds, a.seconds);
  EXPECT_EQ(in_sequence({a}).bounds.size(), a.bounds.size());
  EXPECT_EQ(in_sequence({a}).waves.balance, a.waves.balance);
  EXPECT_TRUE(in_sequence({}).bound.empty());
}

}  // namespace
}  // namespace tw::model
