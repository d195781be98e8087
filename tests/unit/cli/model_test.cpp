// The screens of `tilewright model` against approved files (tests/report/model), the JSON beside
// them, and command lines that must be refused. To approve a changed screen, run with
// TILEWRIGHT_APPROVE=1 and look at the difference in git.
#include "cli/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/model_views.h"

namespace tw::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int status = 0;
  std::string out, err;
};

Outcome run(const std::string& arguments) {
  CLI::App app{"test"};
  app.require_subcommand(1);
  add_model_command(app);
  Outcome result;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse("model " + arguments);
  } catch (const CLI::RuntimeError& e) {
    result.status = e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    result.status = app.exit(e) == 0 ? 0 : 2;
  }
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

struct Screen {
  const char* file;
  const char* arguments;
};
const Screen kScreens[] = {
    {"devices", "devices"},
    {"devices_h200", "devices h200"},
    {"occupancy_38kb", "occupancy --threads 256 --registers 32 --shared 38KB --gpu h100"},
    {"occupancy_full", "occupancy --threads 256 --registers 32 --shared 2048"},
    {"occupancy_grid", "occupancy --threads 1024 --registers 40 --shared 100KB --blocks 1000"},
    {"roofline_h100", "roofline --gpu h100"},
    {"roofline_memory_bound", "roofline --gpu h100 --intensity 0.25"},
    {"roofline_compute_bound", "roofline --gpu a100 --intensity 64 --l2-intensity 8"},
    {"roofline_shared_bound",
     "roofline --gpu h200 --measured --intensity 100 --shared-intensity 0.25"},
    {"roofline_achieved", "roofline --gpu h200 --intensity 8 --flops 2.147e9 --time 100us"},
    {"banks_column", "banks --array 32x32 --element 4 --access column"},
    {"banks_pad", "banks --array 32x32 --element 4 --access column --pad 1"},
    {"banks_swizzle", "banks --array 32x32 --element 4 --access column --swizzle xor"},
    {"banks_half", "banks --array 32x32 --element 2 --access column --pad 1"},
    {"banks_float4_misaligned", "banks --vector 4 --pad 1"},
    {"banks_float4", "banks --vector 4 --store"},
    {"traffic_gemm_naive", "traffic gemm --m 1024 --n 1024 --k 1024"},
    {"traffic_gemm_tile16", "traffic gemm --m 1024 --n 1024 --k 1024 --tile 16"},
    {"traffic_gemm_rectangular",
     "traffic gemm --m 4096 --n 4096 --k 4096 --element 2 --tile 128x256x64"},
    {"traffic_transpose", "traffic transpose --m 4096 --n 4096"},
    {"traffic_vector_add", "traffic vector-add --n 1e9 --time 4ms --gpu h100"},
};

TEST(ModelCommand, ApprovedScreens) {
  for (const Screen& screen : kScreens) {
    const std::string path =
        std::string(TILEWRIGHT_SOURCE_DIR "/tests/report/model/") + screen.file + ".txt";
    const Outcome got = run(screen.arguments);
    EXPECT_EQ(got.status, 0) << screen.arguments << got.err;
    if (std::getenv("TILEWRIGHT_APPROVE") != nullptr) {
      std::ofstream(path) << "$ tilewright model " << screen.arguments << "\n" << got.out;
      continue;
    }
    std::ifstream in(path);
    std::stringstream approved;
    approved << in.rdbuf();
    EXPECT_EQ(std::string("$ tilewright model ") + screen.arguments + "\n" + got.out,
              approved.str())
        << path;
  }
}

// One screen: 24 lines of 120 columns; the list of one device's numbers is meant to be long.
TEST(ModelCommand, FitsTheScreen) {
  for (const Screen& screen : kScreens) {
    if (std::string(screen.file) == "devices_h200") continue;
    std::istringstream lines(run(screen.arguments).out);
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
      if (!line.starts_with("  ")) continue;  // a sentence may wrap
      EXPECT_LE(line.size(), 120u) << screen.file << ": " << line;
    }
    EXPECT_LE(count, 24) << screen.file;
  }
}

TEST(ModelCommand, JsonSaysTheSame) {
  for (const Screen& screen : kScreens) {
    const Outcome got = run(std::string(screen.arguments) + " --json");
    const auto json = nlohmann::json::parse(got.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << screen.arguments;
    EXPECT_EQ(json["schema"], 1) << screen.arguments;
    EXPECT_TRUE(json["command"].is_string());
  }
  auto parsed = [](const char* arguments) { return nlohmann::json::parse(run(arguments).out); };
  auto json = parsed("occupancy --threads 256 --registers 32 --shared 38KB --gpu h100 --json");
  EXPECT_EQ(json["blocks_per_sm"], 5);
  EXPECT_EQ(json["occupancy"], 0.625);
  EXPECT_EQ(json["limiters"], nlohmann::json::array({"shared memory"}));
  json = parsed("banks --json");
  EXPECT_EQ(json["ways"], 32);
  EXPECT_EQ(json["lanes"].size(), 32u);
  json = parsed("traffic gemm --m 1024 --n 1024 --k 1024 --tile 16 --json");
  EXPECT_EQ(json["kernels"][0]["read_bytes"], 8589934592.0);
  EXPECT_EQ(json["kernels"][1]["read_bytes"], 536870912.0);
  json = parsed("roofline --gpu h100 --intensity 0.25 --json");
  EXPECT_EQ(json["bound"], "DRAM");
  EXPECT_NEAR(json["attainable_tflops"].get<double>(), 0.8375, 1e-9);
}

TEST(ModelCommand, RefusesWithAReasonAndStatus2) {
  const struct {
    const char* arguments;
    const char* reason;
  } cases[] = {
      {"", "subcommand is required"},
      {"nonsense", "subcommand is required"},
      {"occupancy", "--threads is required"},
      {"occupancy --threads 0", "at least one thread"},
      {"occupancy --threads 2000", "at most 1024 threads"},
      {"occupancy --threads -5", "--threads"},
      {"occupancy --threads many", "--threads"},
      {"occupancy --threads 256 --registers 300", "at most 255 registers"},
      {"occupancy --threads 256 --shared 300KB", "shared memory"},
      {"occupancy --threads 256 --shared lots", "\"lots\" is not a size"},
      {"occupancy --threads 256 --gpu h300", "unknown GPU \"h300\""},
      {"occupancy --threads 256 --gpu /nonexistent.json", "cannot open"},
      {"occupancy --threads 256 --gpu /dev/zero", "larger than 1 MiB"},
      {"occupancy --threads 256 --blocks 0", "at least one block"},
      {"occupancy --threads 256 --barriers 17", "16 named barriers"},
      {"roofline --pipe vulkan", "unknown pipe"},
      {"roofline --pipe fp8 --gpu a100", "has fp32, fp64"},
      {"roofline --intensity -1", "--intensity: -1 is no number above 0"},
      {"roofline --intensity 0", "--intensity: 0 is no number above 0"},
      {"roofline --intensity nan", "--intensity: nan is no number above 0"},
      {"roofline --gpu /", "\"/\" is a folder, not a GPU"},
      {"banks --position -1", "--position: -1 is no number from 0 up"},
      {"roofline --time 1ms", "--time needs --flops"},
      {"roofline --flops 1e9 --time never", "is not a time"},
      {"roofline --gpu l40s --l2-intensity 3", "L2 bandwidth"},
      {"banks --array 32", "rows x columns"},
      {"banks --array 0x32", "rows and columns"},
      {"banks --array axb", "is not a shape"},
      {"banks --element 3", "element size"},
      {"banks --access diagonal", "row or column"},
      {"banks --swizzle magic", "none or xor"},
      {"banks --swizzle xor --pad 1", "not both"},
      {"banks --vector 8", "too wide"},
      {"banks --position 32", "--position 32"},
      {"banks --pad -1", "--pad"},
      {"traffic", "subcommand is required"},
      {"traffic gemm --m 10 --n 10", "--k is required"},
      {"traffic gemm --m 0 --n 10 --k 10", "at least 1"},
      {"traffic gemm --m 10 --n 10 --k 1e30", "is not a whole number"},
      {"traffic gemm --m 10 --n 10 --k 10 --tile 0", "at least 1"},
      {"traffic gemm --m 10 --n 10 --k 10 --tile 16x0", "all of its sides"},
      {"traffic gemm --m 10 --n 10 --k 10 --tile big", "is not a shape"},
      {"traffic transpose --m 100 --n 100", "multiples of 32"},
      {"traffic vector-add --n 0", "between 1 and"},
      {"traffic vector-add --n 10 --time 0", "is not a time"},
      {"devices h300", "unknown GPU"},
  };
  for (const auto& c : cases) {
    const Outcome got = run(c.arguments);
    EXPECT_EQ(got.status, 2) << c.arguments << got.out;
    EXPECT_THAT(got.err, HasSubstr(c.reason)) << c.arguments;
    EXPECT_EQ(got.out, "") << c.arguments;
  }
}

}  // namespace
}  // namespace tw::cli
