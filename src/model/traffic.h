// Bytes that textbook kernels move, counted on paper: GEMM (naive and tiled), transpose (naive,
// tiled, padded) and vector add. Requested bytes are what the threads ask for; compulsory bytes are
// every input read once and every output written once; sectors are counted lane by lane with the
// rules of src/shadow, for whole tiles. Byte counts are doubles, exact below 2^53.
//
// GEMM is C = A B, A of m x k, B of k x n, row-major. Naive: each output reads a row and a column,
// 2 m n k elements. Tiled: each of the ceil(n/Tn) block columns reads A once, each of the
// ceil(m/Tm) block rows reads B once (guards make ragged edges exact). The arithmetic intensity
// that textbooks quote leaves the write of C out: `intensity` does too, `intensity_with_writes`
// does not.
//
// Not modelled: caches. What part of the requested bytes reaches L2 or DRAM is the profiler's
// matter.
//
// Tested by tests/unit/model/traffic_test.cpp and tests/unit/model/seed_arithmetic_test.cpp.
#pragma once

#include <cstdint>

#include "shadow/banks.h"
#include "util/result.h"

namespace tw::model {

inline constexpr uint64_t kMaxExtent = uint64_t{1}
                                       << 30;  // of a matrix side; of a vector 2^20 times that

struct GemmShape {
  uint64_t m = 0, n = 0, k = 0;
  uint32_t element_bytes = 4;
  uint32_t tile_m = 0, tile_n = 0, tile_k = 0;  // all 0: naive
};

struct GemmTraffic {
  double flops = 0;
  double read_elements = 0, read_bytes = 0;  // requested from global memory
  double write_bytes = 0, compulsory_bytes = 0;
  double intensity = 0;  // FLOP per byte read
  double intensity_with_writes = 0;
  double compulsory_intensity = 0;  // FLOP per compulsory byte: the most any kernel can have
  double reuse = 1;                 // naive reads / these reads
  // Tiled only:
  uint64_t blocks = 0, steps = 0;  // output tiles, tiles along k
  double elements_per_step = 0;    // loaded by a block in one full step
  double shared_bytes = 0;         // both tiles
  // One thread per output, tile_m x tile_n of 32 or fewer columns, whole tiles, aligned rows:
  // sectors of all loads. Negative: this shape has no such count.
  double load_sectors = -1;
};
Result<GemmTraffic> gemm_traffic(const GemmShape& shape);

// The sectors that the loads of a kernel with block_x x block_y threads move, one thread per
// output. For the naive kernel the tile does not say how the block is shaped, so the caller does.
Result<double> naive_gemm_load_sectors(const GemmShape& shape, uint32_t block_x, uint32_t block_y);

struct TransposeShape {
  uint64_t m = 0, n = 0;  // input m x n, row-major; output n x m
  uint32_t element_bytes = 4;
  bool tiled = false;  // through a shared tile of 32 x (32 + pad) elements
  uint32_t pad = 0;
};

struct TransposeTraffic {
  double bytes = 0;  // read + written, the compulsory traffic
  double read_sectors_per_request = 0, write_sectors_per_request = 0;
  double ideal_sectors_per_request = 0;
  double read_efficiency = 0, write_efficiency = 0;  // ideal / actual
  double moved_bytes = 0;                            // 32 per sector
  shadow::BankCount store, load;                     // one warp request into and out of the tile
  double shared_bytes = 0;
};
// Needs whole 32 x 32 tiles (m and n multiples of 32).
Result<TransposeTraffic> transpose_traffic(const TransposeShape& shape);

struct StreamTraffic {
  double bytes = 0, flops = 0, intensity = 0;
};
// c = a + b on n elements: two reads, one write, one FLOP.
Result<StreamTraffic> vector_add_traffic(uint64_t n, uint32_t element_bytes);

}  // namespace tw::model
