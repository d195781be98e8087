// What each calculator shows: a query (the options as typed, with their defaults) in, one screen of
// text and the same facts as JSON out. Apart from CLI11, so that the option parser's headers are
// compiled once. A screen opens with the verdict in a sentence; the table follows.
//
// JSON: one object, "schema" 1, "command", the input echoed, then the results; a limit that does
// not apply is null. Documented in docs/model.md.
//
// Tested by tests/unit/cli/model_test.cpp (approved screens in tests/report/model).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/result.h"

namespace tw::cli {

inline constexpr const char* kDefaultGpu = "h200";

struct View {
  std::string text;
  std::string json;
};

struct OccupancyQuery {
  std::string gpu = kDefaultGpu;
  uint32_t threads = 0;
  uint32_t registers = 32;
  std::string shared = "0";  // static + dynamic
  uint32_t barriers = 1;
  std::string blocks;  // of the grid; empty: no waves
};
Result<View> view_occupancy(const OccupancyQuery& query);

struct RooflineQuery {
  std::string gpu = kDefaultGpu;
  std::string pipe = "fp32";
  bool measured = false;
  double intensity = 0, l2_intensity = 0, l1_intensity = 0, shared_intensity = 0;  // 0: not given
  double flops = 0;
  std::string time;  // of the kernel; needs flops
};
Result<View> view_roofline(const RooflineQuery& query);

struct BanksQuery {
  std::string array = "32x32";
  uint32_t element = 4, vector = 1, pad = 0;
  std::string access = "column";
  std::string swizzle = "none";
  bool store = false;
  int64_t position = -1;  // -1: the worst one
};
Result<View> view_banks(const BanksQuery& query);

struct GemmQuery {
  std::string gpu = kDefaultGpu;
  std::string m, n, k;
  std::string tile;  // "16", "128x64" or "128x64x32"; empty: naive only
  uint32_t element = 4;
};
Result<View> view_gemm_traffic(const GemmQuery& query);

struct TransposeQuery {
  std::string gpu = kDefaultGpu;
  std::string m, n;
  uint32_t element = 4, pad = 1;
};
Result<View> view_transpose_traffic(const TransposeQuery& query);

struct VectorAddQuery {
  std::string gpu = kDefaultGpu;
  std::string n;
  uint32_t element = 4;
  std::string time;
};
Result<View> view_vector_add_traffic(const VectorAddQuery& query);

// No id: the list. With one: every number and its source.
Result<View> view_devices(const std::string& id);

}  // namespace tw::cli
