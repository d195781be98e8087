// Occupancy against what the CUDA runtime answered on a real H200, over thousands of configurations
// (tests/data/occupancy-h200.tsv, written by tests/gpu/occupancy_h200.cu). The '#' lines of the
// file are the device's properties, and devices/h200.json must state the same limits.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "model/occupancy.h"

namespace tw::model {
namespace {

constexpr const char* kFile = TILEWRIGHT_SOURCE_DIR "/tests/data/occupancy-h200.tsv";

TEST(OccupancyH200, EqualsTheRuntime) {
  std::ifstream in(kFile);
  ASSERT_TRUE(in) << kFile;
  auto h200 = load_device_spec("h200");
  ASSERT_TRUE(h200.ok()) << h200.error().to_string();
  std::string line;
  int compared = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#' || line.starts_with("kernel\t")) continue;
    std::istringstream fields(line);
    std::string kernel;
    uint32_t registers = 0, max_threads = 0, threads = 0;
    uint64_t fixed = 0, dynamic = 0;
    int blocks = 0;
    ASSERT_TRUE(fields >> kernel >> registers >> fixed >> max_threads >> threads >> dynamic >>
                blocks)
        << line;
    if (threads > max_threads) continue;  // the kernel's own launch bounds forbid the launch
    const Occupancy got = occupancy(*h200, {threads, registers, fixed + dynamic});
    ASSERT_EQ(got.blocks_per_sm, static_cast<uint32_t>(std::max(blocks, 0))) << line;
    ++compared;
  }
  EXPECT_GE(compared, 2000);
}

TEST(OccupancyH200, DevicePropertiesAgree) {
  std::ifstream in(kFile);
  ASSERT_TRUE(in) << kFile;
  std::map<std::string, uint64_t> property;
  std::string line;
  while (std::getline(in, line) && line.starts_with("#")) {
    std::istringstream words(line.substr(1));
    std::string key, value;
    while (words >> key >> value)
      if (value.find_first_not_of("0123456789") == std::string::npos)
        property[key] = std::stoull(value);
  }
  auto h200 = load_device_spec("h200");
  ASSERT_TRUE(h200.ok());
  const std::map<std::string, uint64_t> ours{
      {"sm_count", h200->sm_count},
      {"max_threads_per_block", h200->max_threads_per_block},
      {"max_threads_per_sm", h200->max_threads_per_sm},
      {"max_blocks_per_sm", h200->max_blocks_per_sm},
      {"registers_per_block", h200->registers_per_block},
      {"registers_per_sm", h200->registers_per_sm},
      {"shared_per_block", h200->shared_per_block},
      {"shared_per_block_optin", h200->shared_per_block_optin},
      {"shared_per_sm", h200->shared_per_sm},
      {"shared_reserved_per_block", h200->shared_reserved_per_block},
      {"l2_bytes", h200->l2_bytes},
      {"memory_bus_bits", h200->memory_bus_bits},
      {"copy_engines", h200->copy_engines},
      {"constant_bytes", h200->constant_bytes},
      {"clock_khz", static_cast<uint64_t>(h200->clock_mhz * 1000)},
      {"memory_clock_khz", static_cast<uint64_t>(h200->memory_clock_mhz * 1000)},
  };
  for (const auto& [key, value] : ours) {
    ASSERT_TRUE(property.contains(key)) << key;
    EXPECT_EQ(property[key], value) << key;
  }
}

}  // namespace
}  // namespace tw::model
