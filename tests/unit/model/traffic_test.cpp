// Traffic on paper against what Nsight Compute counted for the same kernels on an H200
// (tests/data/seed-kernels-ncu-h200.tsv, n = 256), and shapes that must be refused.
#include "model/traffic.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

namespace tw::model {
namespace {

std::map<std::string, std::map<std::string, double>> ncu() {
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tests/data/seed-kernels-ncu-h200.tsv");
  std::map<std::string, std::map<std::string, double>> kernels;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string f[7];
    for (std::string& field : f) std::getline(fields, field, '\t');
    kernels[f[2]][f[5]] = std::stod(f[6]);
  }
  return kernels;
}

constexpr const char* kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
constexpr const char* kLoadRequests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kFfma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";

TEST(Traffic, GemmSectorsEqualNsightCompute) {
  auto measured = ncu();
  const double n = 256;
  EXPECT_EQ(*naive_gemm_load_sectors({256, 256, 256}, 16, 16),
            measured["gemm_naive"][kLoadSectors]);
  for (uint32_t tile : {16u, 32u}) {
    auto t = gemm_traffic({256, 256, 256, 4, tile, tile, tile});
    ASSERT_TRUE(t.ok());
    auto& m = measured["gemm_tiled<" + std::to_string(tile) + ">"];
    EXPECT_EQ(t->load_sectors, m[kLoadSectors]) << tile;
    EXPECT_EQ(t->flops, 2 * m[kFfma]) << tile;
    EXPECT_EQ(t->write_bytes / 32, m[kStoreSectors]) << tile;
    EXPECT_EQ(t->read_elements / 32, m[kLoadRequests]) << tile;
  }
  EXPECT_EQ(gemm_traffic({256, 256, 256})->read_elements / 32,
            measured["gemm_naive"][kLoadRequests]);
  EXPECT_EQ(2 * n * n * n, 2 * measured["gemm_naive"][kFfma]);
}

TEST(Traffic, TransposesEqualNsightCompute) {
  auto measured = ncu();
  const double requests = 256 * 256 / 32;
  const struct {
    const char* kernel;
    TransposeShape shape;
  } cases[] = {{"transpose_naive", {256, 256, 4, false, 0}},
               {"transpose_tiled<0>", {256, 256, 4, true, 0}},
               {"transpose_tiled<1>", {256, 256, 4, true, 1}}};
  for (const auto& c : cases) {
    auto t = transpose_traffic(c.shape);
    ASSERT_TRUE(t.ok());
    auto& m = measured[c.kernel];
    EXPECT_EQ(t->read_sectors_per_request * requests, m[kLoadSectors]) << c.kernel;
    EXPECT_EQ(t->write_sectors_per_request * requests, m[kStoreSectors]) << c.kernel;
    if (!c.shape.tiled) continue;
    EXPECT_EQ(t->load.wavefronts * requests,
              m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]);
    EXPECT_EQ(t->load.conflicts() * requests,
              m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]);
    EXPECT_EQ(t->store.wavefronts * requests,
              m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]);
  }
}

TEST(Traffic, RaggedAndRectangularGemm) {
  auto t = gemm_traffic({100, 70, 33, 2, 64, 32, 16});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->read_elements, 100.0 * 33 * 3 + 33.0 * 70 * 2);  // 3 block columns, 2 block rows
  EXPECT_EQ(t->blocks, 6u);
  EXPECT_EQ(t->steps, 3u);
  EXPECT_EQ(t->shared_bytes, (64 * 16 + 16 * 32) * 2.0);
  EXPECT_LT(t->load_sectors, 0);  // no exact count for this shape
}

TEST(Traffic, Refused) {
  EXPECT_FALSE(gemm_traffic({0, 1, 1}).ok());
  EXPECT_FALSE(gemm_traffic({UINT64_MAX, 1, 1}).ok());
  EXPECT_FALSE(gemm_traffic({16, 16, 16, 3}).ok());
  EXPECT_FALSE(gemm_traffic({16, 16, 16, 4, 16, 0, 0}).ok());
  EXPECT_FALSE(gemm_traffic({16, 16, 16, 4, 16, 16, 100000}).ok());
  EXPECT_FALSE(naive_gemm_load_sectors({256, 256, 256}, 0, 16).ok());
  EXPECT_FALSE(naive_gemm_load_sectors({256, 256, 256}, 24, 16).ok());
  EXPECT_FALSE(naive_gemm_load_sectors({250, 250, 250}, 16, 16).ok());
  EXPECT_FALSE(transpose_traffic({33, 32}).ok());
  EXPECT_FALSE(transpose_traffic({0, 32}).ok());
  EXPECT_FALSE(vector_add_traffic(0, 4).ok());
  EXPECT_FALSE(vector_add_traffic(UINT64_MAX, 4).ok());
  EXPECT_FALSE(vector_add_traffic(10, 5).ok());
}

}  // namespace
}  // namespace tw::model
