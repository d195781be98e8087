// Device files: what they say, how they agree with themselves, and hostile texts.
#include "model/device_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "model/embedded_devices.h"

namespace tw::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string h200_text() {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/devices/h200.json");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  if (at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

TEST(DeviceSpec, EveryEmbeddedDeviceParses) {
  EXPECT_THAT(device_ids(),
              ElementsAre("a100", "b200", "h100", "h100-pcie", "h200", "l40s", "rtx4090"));
  for (const std::string& id : device_ids()) {
    auto spec = load_device_spec(id);
    ASSERT_TRUE(spec.ok()) << spec.error().to_string();
    EXPECT_EQ(spec->id, id);
    for (const SourcedNumber& number : spec->sources) {
      EXPECT_FALSE(number.source.empty()) << id << " " << number.key;
      EXPECT_GT(number.line, 0u) << id << " " << number.key;
    }
  }
}

TEST(DeviceSpec, H200) {
  auto spec = load_device_spec("h200");
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  EXPECT_EQ(spec->name, "NVIDIA H200");
  EXPECT_EQ(spec->sm_count, 132u);
  EXPECT_EQ(spec->max_warps_per_sm, 64u);
  EXPECT_EQ(spec->max_blocks_per_sm, 32u);
  EXPECT_EQ(spec->registers_per_sm, 65536u);
  EXPECT_EQ(spec->shared_per_sm, 228u * 1024);
  EXPECT_EQ(spec->shared_per_block_optin, 227u * 1024);
  EXPECT_EQ(spec->shared_reserved_per_block, 1024u);
  EXPECT_EQ(spec->l2_bytes, 60u << 20);
  EXPECT_DOUBLE_EQ(spec->dram_gb_per_s, 4800);
  EXPECT_DOUBLE_EQ(spec->measured.dram_gb_per_s, 4240);
}

// The peak rates of the datasheet are lanes x clock x SMs x 2; a typing error in either shows here.
TEST(DeviceSpec, DatasheetAgreesWithLanesTimesClock) {
  for (const std::string& id : device_ids()) {
    auto spec = load_device_spec(id);
    ASSERT_TRUE(spec.ok());
    const double fp32 = spec->fp32_per_clock * 2.0 * spec->sm_count * spec->clock_mhz * 1e-6;
    const double fp64 = spec->fp64_per_clock * 2.0 * spec->sm_count * spec->clock_mhz * 1e-6;
    const double dram = spec->memory_bus_bits / 8.0 * 2 * spec->memory_clock_mhz * 1e-3;
    EXPECT_NEAR(spec->fp32_tflops / fp32, 1, 0.01) << id;
    EXPECT_NEAR(spec->fp64_tflops / fp64, 1, 0.02) << id;
    EXPECT_NEAR(spec->dram_gb_per_s / dram, 1, 0.03) << id;
  }
}

TEST(DeviceSpec, AcceptsAPath) {
  auto spec = load_device_spec(TILEWRIGHT_SOURCE_DIR "/devices/h200.json");
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  EXPECT_EQ(spec->id, "h200");
}

TEST(DeviceSpec, UnknownNameListsTheKnownOnes) {
  auto spec = load_device_spec("h300");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().message, HasSubstr("h100-pcie, h200"));
}

TEST(DeviceSpec, MissingFileDirectoryAndEndlessFile) {
  EXPECT_FALSE(load_device_spec("/nonexistent/x.json").ok());
  EXPECT_FALSE(load_device_spec("/").ok());
  auto endless = load_device_spec("/dev/zero");
  ASSERT_FALSE(endless.ok());
  EXPECT_THAT(endless.error().message, HasSubstr("larger than 1 MiB"));
}

struct Hostile {
  const char* name;
  std::string text;
  const char* message;
  uint32_t line;
};

TEST(DeviceSpec, HostileTextIsAnErrorWithFileAndLine) {
  const std::string good = h200_text();
  const std::string sm = "\"sm_count\": {\"value\": 132,";
  const Hostile cases[] = {
      {"empty", "", "not valid JSON", 1},
      {"not json", "hello", "not valid JSON", 1},
      {"truncated", good.substr(0, 300), "not valid JSON", 8},
      {"broken on line 3", "{\n\"schema\": 1,\n\"id\" 3}", "not valid JSON", 3},
      {"list", "[1]", "no lists", 1},
      {"deep", std::string(100000, '['), "no lists", 1},
      {"deep objects", "{\"limits\":{\"a\":{\"b\":{\"c\":{}}}}}", "nested too deep", 1},
      {"no schema", "{}", "\"schema\" is missing", 1},
      {"schema 2", replaced(good, "\"schema\": 1", "\"schema\": 2"), "unknown \"schema\"", 2},
      {"unknown base", replaced(good, "compute-9.0", "compute-1.0"), "known: compute-10.0", 5},
      {"base is a GPU", replaced(good, "compute-9.0", "h100-sxm"), "known: compute-10.0", 5},
      {"base climbs out", replaced(good, "compute-9.0", "../x"), "known: compute-10.0", 5},
      {"unknown section", replaced(good, "\"limits\"", "\"limit\""), "unknown section", 6},
      {"unknown key", replaced(good, "sm_count", "sm_cuont"), "unknown key \"sm_cuont\"", 7},
      {"bare number", replaced(good, sm, "\"sm_count\": 132, \"x\": {"), "bare number", 7},
      {"negative", replaced(good, sm, "\"sm_count\": {\"value\": -1,"), "out of range", 7},
      {"zero", replaced(good, sm, "\"sm_count\": {\"value\": 0,"), "out of range", 7},
      {"fraction", replaced(good, sm, "\"sm_count\": {\"value\": 1.5,"), "whole number", 7},
      {"too large", replaced(good, sm, "\"sm_count\": {\"value\": 1e300,"), "out of range", 7},
      {"beyond 64 bits", replaced(good, sm, "\"sm_count\": {\"value\": 99999999999999999999999,"),
       "out of range", 7},
      {"overflow to infinity", replaced(good, sm, "\"sm_count\": {\"value\": 1e999,"), "", 7},
      {"text value", replaced(good, sm, "\"sm_count\": {\"value\": \"132\","),
       "text where a number", 7},
      {"null value", replaced(good, sm, "\"sm_count\": {\"value\": null,"), "null", 7},
      {"no value", replaced(good, "{\"value\": 132, ", "{"), "no \"value\"", 7},
      {"value twice", replaced(good, sm, "\"sm_count\": {\"value\": 1, \"value\": 132,"),
       "given twice", 7},
      {"key twice", replaced(good, "\"l2_bytes\"", "\"sm_count\""), "given twice", 8},
      {"name missing", replaced(good, "  \"name\": \"NVIDIA H200\",\n", ""), "\"name\" is missing",
       1},
      {"number missing", replaced(good, "\"clock_mhz\"", "\"l2_gb_per_s\""),
       "\"clock_mhz\" is missing", 1},
      {"invalid utf-8", replaced(good, "NVIDIA H200", "\xff\xfe"), "not valid JSON", 4},
      {"nul byte", good.substr(0, 10) + std::string(1, '\0') + good.substr(10), "not valid JSON",
       2},
  };
  for (const Hostile& hostile : cases) {
    auto spec = parse_device_spec(hostile.text, "bad.json");
    ASSERT_FALSE(spec.ok()) << hostile.name;
    EXPECT_EQ(spec.error().file, "bad.json") << hostile.name;
    EXPECT_EQ(spec.error().line, hostile.line) << hostile.name << ": " << spec.error().to_string();
    EXPECT_THAT(spec.error().message, HasSubstr(hostile.message)) << hostile.name;
  }
}

TEST(DeviceSpec, SourceIsRequired) {
  std::string text = h200_text();
  const auto at = text.find(", \"source\"");
  const auto end = text.find('}', at);
  text.erase(at, end - at);
  auto spec = parse_device_spec(text, "bad.json");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().message, HasSubstr("no \"source\""));
  EXPECT_EQ(spec.error().line, 7u);
}

TEST(DeviceSpec, ContradictingLimits) {
  std::string text =
      replaced(h200_text(), "\"limits\": {",
               "\"limits\": {\n\"max_warps_per_sm\": {\"value\": 48, \"source\": \"x\"},");
  auto spec = parse_device_spec(text, "bad.json");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().message, HasSubstr("not 32 times"));
  EXPECT_EQ(spec.error().line, 7u);
}

// Every prefix and every single-byte change of a good file: an Error or a spec, never an exception.
TEST(DeviceSpec, NoPrefixOrByteChangeThrows) {
  const std::string good = h200_text();
  for (std::size_t i = 0; i < good.size(); ++i)
    (void)parse_device_spec(std::string_view(good).substr(0, i), "x").ok();
  for (std::size_t i = 0; i < good.size(); i += 3)
    for (char c : {'"', '{', '}', ',', '9', '\0', '\xff'}) {
      std::string text = good;
      text[i] = c;
      (void)parse_device_spec(text, "x").ok();
    }
}

}  // namespace
}  // namespace tw::model
