// Kernels of the GEMM library in the engine, a few of each kind, at ragged sizes: what bulk copies,
// clusters, mbarriers, WGMMA and repacking while the product runs come to without a GPU. Results
// against sums in double; `tilewright check` has to find nothing (gemm_library.sh).
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "gemm/lib/elementwise.h"
#include "gemm/lib/gather_kernel.cuh"
#include "gemm/lib/gemm_plan.h"
#include "gemm/lib/narrow_kernel.cuh"
#include "gemm/lib/sgemm.h"
#include "gemm/lib/wgmma_kernel.cuh"

// The table of all instances takes minutes to compile; here every kernel is named.
namespace tw::gemm {
const WgmmaKernel* wgmma_kernels(int* count) {
  *count = 0;
  return nullptr;
}
}  // namespace tw::gemm

namespace {

using namespace tw::gemm;
using tw::model::GemmKernel;
using Bf16 = __nv_bfloat16;

int failures = 0;

// Of whole 16 bytes, which the kernels that take any address read at a time.
template <class T> struct DeviceArray {
  explicit DeviceArray(const std::vector<T>& host) : count(host.size()) {
    const size_t bytes = (count * sizeof(T) + 15) / 16 * 16;
    cudaMalloc(&data, bytes);
    cudaMemset(data, 0, bytes);
    cudaMemcpy(data, host.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~DeviceArray() { cudaFree(data); }
  DeviceArray(const DeviceArray&) = delete;
  T* data = nullptr;
  size_t count;
};

struct Case {
  const char* name;
  int m, n, k;
  bool a_mn, b_mn;
  int pad;  // elements between lines beyond what 16 bytes ask for; -1: none, lines start anywhere
  float alpha, beta;
  int ld_d;
};

// D = alpha * A * B + beta * C, computed by `launch` from operands that lie as the case says.
template <class T, class D, class Launch> void run(const Case& c, Launch launch) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  auto pitch_of = [&](int length) {
    const int unit = 16 / int(sizeof(T));
    return c.pad < 0 ? length : (length + unit - 1) / unit * unit + c.pad * unit;
  };
  const int pitch_a = pitch_of(c.a_mn ? c.m : c.k), pitch_b = pitch_of(c.b_mn ? c.n : c.k);
  std::vector<T> a(size_t(pitch_a) * (c.a_mn ? c.k : c.m)),
      b(size_t(pitch_b) * (c.b_mn ? c.k : c.n));
  std::vector<D> d(size_t(c.m) * c.ld_d), source(d.size());
  for (T& x : a) x = T(value(random));
  for (T& x : b) x = T(value(random));
  for (D& x : source) x = D(value(random));
  std::memset(static_cast<void*>(d.data()), 0x5a, d.size() * sizeof(D));
  const std::vector<D> before = d;
  const DeviceArray<T> on_a(a), on_b(b);
  const DeviceArray<D> on_d(d), on_c(source);
  WgmmaProblem p{};
  p.m = c.m, p.n = c.n, p.k = c.k, p.batches = 1;
  p.a = {on_a.data, pitch_a, 0, c.a_mn};
  p.b = {on_b.data, pitch_b, 0, c.b_mn};
  p.d = on_d.data, p.ld_d = c.ld_d;
  p.c = on_c.data, p.ld_c = c.ld_d;
  p.output = sizeof(D) == 4 ? Output::kF32 : Output::kBf16;
  p.alpha = c.alpha, p.beta = c.beta;
  const cudaError_t launched = launch(p), ended = cudaDeviceSynchronize();
  cudaMemcpy(d.data(), on_d.data, d.size() * sizeof(D), cudaMemcpyDeviceToHost);
  double worst = 0;
  int touched = 0;
  for (int i = 0; i < c.m; ++i) {
    for (int j = 0; j < c.ld_d; ++j) {
      const size_t at = size_t(i) * c.ld_d + j;
      if (j >= c.n) {
        touched += std::memcmp(&d[at], &before[at], sizeof(D)) != 0;
        continue;
      }
      double sum = 0;
      for (int l = 0; l < c.k; ++l)
        sum += double(float(a[c.a_mn ? size_t(l) * pitch_a + i : size_t(i) * pitch_a + l])) *
               double(float(b[c.b_mn ? size_t(l) * pitch_b + j : size_t(j) * pitch_b + l]));
      sum = c.alpha * sum + (c.beta != 0 ? c.beta * double(float(source[at])) : 0.0);
      worst = std::fmax(worst, std::fabs(sum - double(float(d[at]))) / (1 + std::fabs(sum)));
    }
  }
  const bool right = launched == cudaSuccess && ended == cudaSuccess && touched == 0 &&
                     worst < (sizeof(D) == 4 ? 1e-4 : 5e-3);
  failures += !right;
  std::printf("%-34s %4d x %3d x %4d  %s", c.name, c.m, c.n, c.k, right ? "right\n" : "WRONG");
  if (!right)
    std::printf(": %s, %s, error %.2e, %d beside D\n", cudaGetErrorString(launched),
                cudaGetErrorString(ended), worst, touched);
}

// ---- fp32 ----

void fp32() {
  auto tma = [](tw::model::GemmTile tile, int k_cluster) {
    return [=](const WgmmaProblem& p) {
      WgmmaSchedule s;
      s.k_cluster = k_cluster;
      return launch_sgemm_tma(p, tile, s, nullptr);
    };
  };
  constexpr tw::model::GemmTile kWide = tw::model::kCudaCoreTmaTiles[0],
                                kGroups = tw::model::kCudaCoreTmaTiles[1];
  run<float, float>({"fp32 TMA 128x256", 131, 259, 99, true, true, 1, 2.5f, 0, 261}, tma(kWide, 1));
  run<float, float>({"fp32 TMA 128x256, beta", 129, 260, 33, true, true, 0, 1, 2, 260},
                    tma(kWide, 1));
  run<float, float>({"fp32 TMA 128x128, two groups", 130, 132, 31, true, true, 0, 1, 0, 132},
                    tma(kGroups, 1));
  run<float, float>({"fp32 TMA, K over two CTAs", 131, 129, 390, true, true, 0, -1, 0.5f, 131},
                    tma(kGroups, 2));
  run<float, float>({"fp32 TMA, K over four CTAs", 128, 128, 520, true, true, 0, 1, 0, 128},
                    tma(kGroups, 4));
  const auto plain = [](int which, int k_cluster) {
    return [=](const WgmmaProblem& p) {
      WgmmaSchedule s;
      s.k_cluster = k_cluster;
      return launch_sgemm(p, tw::model::kCudaCoreTiles[which], s, nullptr);
    };
  };
  run<float, float>({"fp32 128x256", 131, 257, 70, false, true, -1, 1, 0, 257}, plain(0, 1));
  run<float, float>({"fp32 128x128", 131, 129, 70, false, false, -1, 1, 1, 131}, plain(1, 1));
  run<float, float>(
      {"fp32 128x128, two groups, two CTAs", 67, 129, 200, true, false, -1, 1, 0, 131},
      plain(2, 2));
  run<float, float>({"fp32 64x64", 67, 65, 45, false, false, -1, 2, 0, 66}, plain(3, 1));
  run<float, float>({"fp32 up to four columns", 300, 3, 177, true, true, 0, 1, 0, 3},
                    [](const WgmmaProblem& p) {
                      WgmmaSchedule s;
                      s.k_cluster = 2;
                      return launch_sgemm_narrow(p, false, s, nullptr);
                    });
}

// ---- tensor cores ----

template <class T>
static constexpr Element kElementOf = sizeof(T) == 1 ? Element::kE4m3 : Element::kBf16;

template <class Tile, Epilogue... kEpilogues> WgmmaKernel tiled() {
  WgmmaKernel k{};
  k.element_a = k.element_b = kElementOf<typename Tile::A>;
  k.bm = Tile::BM, k.bn = Tile::BN, k.stages = Tile::kStages;
  k.threads = Tile::kThreads;
  k.shared_bytes = Tile::kSharedBytes;
  k.a_mn = Tile::kAMn, k.b_mn = Tile::kBMn;
  k.resident = Tile::kResident;
  k.kernel = GemmKernel::kTiled;
  k.ping_pong = Tile::kPingPong;
  if constexpr (Tile::kConsumers == 2)
    k.repack_threads = Warpgroups<Tile, Epilogue::kRepackGeneral>::kThreads;
  auto add = [&](Epilogue e, const void* function) {
    cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes);
    k.functions[static_cast<int>(e)] = function;
  };
  (add(kEpilogues, reinterpret_cast<const void*>(&wgmma_gemm<Tile, kEpilogues>)), ...);
  return k;
}

template <bool kMnMajor> WgmmaKernel narrow_kernel() {
  using Tile = NarrowTile<Bf16, Bf16, 16, kMnMajor, false>;
  WgmmaKernel k{};
  k.element_a = k.element_b = Element::kBf16;
  k.bm = Tile::BW, k.bn = Tile::BX, k.stages = Tile::kStages;
  k.threads = Tile::kThreads;
  k.shared_bytes = Tile::kSharedBytes;
  k.a_mn = kMnMajor;
  k.resident = Tile::kResident;
  k.kernel = GemmKernel::kNarrow;
  auto add = [&](Epilogue e, const void* function) {
    cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, k.shared_bytes);
    k.functions[static_cast<int>(e)] = function;
  };
  add(Epilogue::kElements, reinterpret_cast<const void*>(&narrow_gemm<Tile, true>));
  add(Epilogue::kGeneral, reinterpret_cast<const void*>(&narrow_gemm<Tile, false>));
  return k;
}

// D^T = B^T A^T, stored turned.
auto with_turned(const WgmmaKernel& kernel, int cluster) {
  return [=](const WgmmaProblem& p) {
    WgmmaSchedule s;
    s.cluster = cluster;
    s.raster_group = 2;
    s.sm_count = 4;
    return launch_wgmma(kernel, turned(p), s, nullptr);
  };
}

auto with(const WgmmaKernel& kernel, int cluster, bool shares_a = false, int k_cluster = 1) {
  return [=](const WgmmaProblem& p) {
    WgmmaSchedule s;
    s.cluster = cluster, s.shares_a = shares_a, s.k_cluster = k_cluster;
    s.raster_group = 2;
    s.sm_count = 4;  // several tiles a CTA
    return launch_wgmma(kernel, p, s, nullptr);
  };
}

// Operands of any pitch, repacked while the product runs; `narrow`: the kernel for the last row and
// column, which are gathered meanwhile, and multiplied by launches behind, but for the column's last
// rows.
constexpr int kColumnRows = 128;
cudaError_t repacking(const WgmmaKernel& kernel, int cluster, WgmmaProblem p,
                      const WgmmaKernel* narrow = nullptr) {
  const int bytes = element_bytes(kernel.element_a);
  const DeviceArray<char> storage_a(std::vector<char>((p.m + 600ll) * (p.k + 600ll) * bytes)),
      storage_b(std::vector<char>((p.n + 600ll) * (p.k + 600ll) * bytes));
  MovedPair moved{p.a, p.b, p.a, p.b};
  auto place = [&](const Matrix& x, int mn, char* to) {
    const int64_t line = (x.mn_major ? mn : p.k) * bytes;
    return Matrix{to, (line + 127) / 128 * 128 / bytes, 0, x.mn_major};
  };
  p.a = moved.a = place(p.a, p.m, storage_a.data);
  p.b = moved.b = place(p.b, p.n, storage_b.data);
  const size_t counter_bytes = repack_counter_bytes(moved, p.m, p.n, p.k, bytes);
  const DeviceArray<char> counters(std::vector<char>(counter_bytes, char(0xff)));
  tw::model::GemmCandidate product;
  product.k_bands_ahead = 1;
  product.first_rows = 300, product.first_columns = 300;
  const bool edges = narrow != nullptr;
  p.m -= edges, p.n -= edges;
  p.repack =
      order_repack(moved, p.m, p.n, p.k, bytes, product, counters.data, edges, edges, kColumnRows);
  WgmmaSchedule s;
  s.cluster = cluster;
  s.raster_group = 2;
  s.sm_count = 4;
  cudaError_t error = launch_repack_ahead(p.repack, s.sm_count, nullptr);
  if (error == cudaSuccess) error = launch_wgmma(kernel, p, s, nullptr);
  if (edges) {
    WgmmaProblem edge = p;
    edge.repack = {};
    edge.after = p.repack.done, edge.after_count = p.repack.parts;
    const int64_t pitch = (p.k + 127) / 128 * 128;
    auto launch = [&](const Matrix& wide, int count, const char* line, int64_t d_at, int64_t c_at,
                      bool turned) {
      if (error != cudaSuccess) return;
      edge.a = wide, edge.b = {line, pitch, 0, false};
      edge.m = count, edge.n = 1, edge.transposed = turned;
      const int each = edge.output == Output::kF32 ? 4 : 2;
      edge.d = static_cast<char*>(p.d) + d_at * each;
      edge.c = static_cast<const char*>(p.c) + c_at * each;
      error = launch_wgmma(*narrow, edge, s, nullptr);
    };
    s.cluster = 1;
    launch(p.b, p.n, p.repack.row, p.m * p.ld_d, p.m * p.ld_c, true);
    launch(p.a, kColumnRows, p.repack.column, p.n, p.n, false);
  }
  return error != cudaSuccess ? error
                              : cudaDeviceSynchronize();  // the workspace goes with this call
}

// Tiles that fill no whole rows of staging.
void odd_widths() {
  using Wide = WgmmaTile<Bf16, Bf16, 128, 96, false, false, 1>;
  const WgmmaKernel wide = tiled<Wide, Epilogue::kBulk, Epilogue::kElements, Epilogue::kGeneral>();
  run<Bf16, Bf16>({"bf16 128x96", 200, 200, 96, false, false, 0, 1, 0, 200}, with(wide, 1));
  run<Bf16, Bf16>({"bf16 128x96, ragged", 200, 197, 96, false, false, 0, 1, 0, 197}, with(wide, 1));
  run<Bf16, Bf16>({"bf16 128x96, beta", 200, 200, 96, false, false, 0, 1, 1, 200}, with(wide, 1));
  using Narrow = WgmmaTile<Bf16, Bf16, 64, 48, false, false, 1>;
  const WgmmaKernel narrow = tiled<Narrow, Epilogue::kElements, Epilogue::kGeneral>();
  run<Bf16, Bf16>({"bf16 64x48, ragged", 70, 91, 96, false, false, 0, 1, 0, 91}, with(narrow, 1));
  run<Bf16, float>({"bf16 64x48, fp32 out", 70, 91, 96, false, false, 0, 1, 0, 91},
                   with(narrow, 1));
}

void bf16() {
  odd_widths();
  using Small = WgmmaTile<Bf16, Bf16, 64, 64, false, false, 2>;
  const WgmmaKernel small =
      tiled<Small, Epilogue::kBulk, Epilogue::kElements, Epilogue::kPlainSum>();
  run<Bf16, Bf16>({"bf16 64x64", 200, 136, 160, false, false, 0, 1, 0, 136}, with(small, 1));
  run<Bf16, Bf16>({"bf16 64x64, two CTAs share B", 197, 131, 160, false, false, 0, 1, 0, 131},
                  with(small, 2));
  run<Bf16, Bf16>({"bf16 64x64, two CTAs share A", 133, 275, 100, false, false, 1, 1, 0, 277},
                  with(small, 2, true));
  // One row of tiles: each pair starts at another k.
  run<Bf16, Bf16>({"bf16 64x64, pairs start apart", 61, 275, 500, false, false, 0, 1, 0, 275},
                  with(small, 2, true));
  run<Bf16, Bf16>({"bf16 64x64, K over four CTAs", 61, 63, 1000, false, false, 0, 1, 0, 64},
                  with(small, 1, false, 4));
  // Rows 16 KiB apart: CTAs start at other k.
  run<Bf16, Bf16>({"bf16 128x16 narrow, starts apart", 300, 13, 500, false, false, 961, 1, 0, 13},
                  with(narrow_kernel<false>(), 1, false, 2));
  using General = WgmmaTile<Bf16, Bf16, 128, 64, true, true, 1>;
  run<Bf16, float>({"bf16 128x64, MN-major, fp32 out", 131, 67, 90, true, true, 0, 0.5f, 2, 67},
                   with(tiled<General, Epilogue::kGeneral>(), 1));
  using Turns = WgmmaTile<Bf16, Bf16, 128, 128, false, false, 1, true>;
  run<Bf16, Bf16>({"bf16 128x128 in turns", 390, 264, 150, false, false, 0, 1, 0, 264},
                  with(tiled<Turns, Epilogue::kBulk, Epilogue::kElements>(), 2));
  using Turned = WgmmaTile<Bf16, Bf16, 128, 168, true, false, 1, true>;
  const WgmmaKernel turned_turns = tiled<Turned, Epilogue::kTurned>();
  run<Bf16, Bf16>({"bf16 128x168 turned in turns", 389, 264, 150, false, true, 0, 0.5f, 0, 272},
                  with_turned(turned_turns, 1));
  run<Bf16, Bf16>({"bf16 128x168 turned, two CTAs", 181, 520, 70, false, true, 0, 1, 0, 520},
                  with_turned(turned_turns, 2));
}

// Sums in chains of 32, 16 and 4 K blocks, and what is left of them.
void fp8() {
  using E4m3 = __nv_fp8_e4m3;
  using Tile = WgmmaTile<E4m3, E4m3, 128, 128, false, false, 1>;
  const WgmmaKernel kernel = tiled<Tile, Epilogue::kBulk, Epilogue::kElements>();
  run<E4m3, Bf16>({"e4m3 128x128, 69 K blocks", 70, 136, 8792, false, false, 0, 1, 0, 136},
                  with(kernel, 1));
  run<E4m3, Bf16>({"e4m3 128x128, 37 K blocks", 133, 67, 4680, false, false, 0, 0.5f, 0, 67},
                  with(kernel, 2));
  run<E4m3, Bf16>({"e4m3 128x128, 3 K blocks", 390, 264, 300, false, false, 1, 1, 0, 264},
                  with(kernel, 1));
}

void while_repacking() {
  using E4m3 = __nv_fp8_e4m3;
  using Fp8 = WgmmaTile<E4m3, E4m3, 128, 128, false, false, 1>;
  const WgmmaKernel fp8 = tiled<Fp8, Epilogue::kRepackElements>();
  for (int cluster : {1, 2})
    run<E4m3, Bf16>({cluster == 1 ? "e4m3 128x128, repacking" : "e4m3 128x128, repacking, two CTAs",
                     389, 261, 2100, false, false, -1, 1, 0, 261},
                    [&](const WgmmaProblem& p) { return repacking(fp8, cluster, p); });
  using Large = WgmmaTile<Bf16, Bf16, 128, 256, false, false, 1>;
  const WgmmaKernel large = tiled<Large, Epilogue::kRepackElements, Epilogue::kRepackGeneral>();
  for (int cluster : {1, 2})
    run<Bf16, Bf16>({cluster == 1 ? "bf16 128x256, repacking" : "bf16 128x256, repacking, two CTAs",
                     389, 523, 579, false, false, -1, 1, 0, 523},
                    [&](const WgmmaProblem& p) { return repacking(large, cluster, p); });
  run<Bf16, Bf16>(
      {"bf16 128x256, repacking, a row of tiles", 100, 523, 513, false, false, -1, 1, 0, 523},
      [&](const WgmmaProblem& p) { return repacking(large, 1, p); });
  // One row, one column and one k beyond whole tiles, blocks and bands.
  const WgmmaKernel narrow = narrow_kernel<false>(), narrow_mn = narrow_kernel<true>();
  auto beyond = [](const WgmmaKernel& kernel, const WgmmaKernel& edges) {
    return [&](const WgmmaProblem& p) { return repacking(kernel, 1, p, &edges); };
  };
  run<Bf16, Bf16>({"bf16 128x256, edges meanwhile", 257, 385, 513, false, false, -1, 1, 0, 385},
                  beyond(large, narrow));
  run<Bf16, float>({"bf16 128x256, edges, beta", 257, 385, 520, false, false, -1, 2, 0.5f, 387},
                   beyond(large, narrow));
  using MnMajor = WgmmaTile<Bf16, Bf16, 128, 256, true, true, 1>;
  const WgmmaKernel mn_major = tiled<MnMajor, Epilogue::kRepackElements>();
  run<Bf16, Bf16>({"bf16 128x256, edges, MN-major", 257, 385, 513, true, true, -1, 1, 0, 385},
                  beyond(mn_major, narrow_mn));
}

}  // namespace

int main(int argc, char**) {
  if (argc == 1) {
    fp32();
    bf16();
    fp8();
  } else {
    while_repacking();
  }
  std::printf("%d wrong\n", failures);
  return failures != 0;
}
